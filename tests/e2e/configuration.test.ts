// SPDX-License-Identifier: Apache-2.0
// A wrong configuration fails loudly: Envoy does not start with it, and an update with it changes nothing.
import assert from "node:assert/strict";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { buildFilter } from "../../cli/build.ts";
import { Failure } from "../../cli/failure.ts";
import { loadBootstrap, wasmPlugins, type Bootstrap } from "../../envoy/bootstrap.ts";
import { startEnvoy } from "../../envoy/launcher.ts";
import { takeTurn } from "./harness/client.ts";
import { Conversation } from "./harness/conversation.ts";
import { startFleet, until, type Fleet } from "./harness/fleet.ts";

const REFUSED: { configuration: string; says: RegExp }[] = [
  { configuration: '{"policy": "clever"}', says: /policy.*clever.*sticky/s },
  { configuration: '{"hold_stall_ms": 5}', says: /hold_stall_ms.*5.*50/s },
  { configuration: '{"hold_stall_ms": "soon"}', says: /hold_stall_ms.*soon/s },
  { configuration: '{"polcy": "sticky"}', says: /polcy/ },
  { configuration: '{"policy": ', says: /smetric.*(JSON|end)/is },
  { configuration: "[]", says: /smetric.*object/is },
];

for (const { configuration, says } of REFUSED) {
  test(`Envoy refuses to start with ${configuration} and says why`, async () => {
    const starting = startEnvoy({
      bootstrap: "pin",
      endpoints: ["127.0.0.1:9"],
      wasm: await buildFilter(),
      edit: (bootstrap) => {
        for (const plugin of wasmPlugins(bootstrap)) plugin.configuration.value = configuration;
      },
    });
    await assert.rejects(starting, (error) => {
      assert.ok(error instanceof Failure);
      assert.match(error.message, says);
      return true;
    });
  });
}

test("an empty configuration means the defaults", async (t) => {
  const fleet = await startFleet(t, {
    size: 1,
    edit: (bootstrap) => {
      for (const plugin of wasmPlugins(bootstrap)) plugin.configuration.value = "";
    },
  });
  const session = new Conversation("hello");
  assert.equal((await takeTurn(fleet.envoy.url, session, "more")).status, 200);
});

/** Listeners from a file that Envoy watches, as a control plane would deliver them. */
class ListenerFile {
  readonly #folder = mkdtempSync(join(tmpdir(), "smetric-listeners-"));
  readonly path = join(this.#folder, "listeners.json");

  write(bootstrap: Bootstrap): void {
    const type = "type.googleapis.com/envoy.config.listener.v3.Listener";
    const resources = bootstrap.static_resources.listeners.map((listener) => ({
      "@type": type,
      ...listener,
    }));
    const draft = `${this.path}.draft`;
    writeFileSync(draft, JSON.stringify({ resources }));
    renameSync(draft, this.path); // Envoy notices moves, not writes.
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** All sessions take a turn; answers who served them. */
async function takeTurns(fleet: Fleet, sessions: Conversation[]): Promise<string[]> {
  return Promise.all(
    sessions.map(async (session) => {
      const reply = await takeTurn(fleet.envoy.url, session, "go on");
      assert.equal(reply.status, 200);
      return session.messages.at(-2)?.content?.split(" of ")[1] ?? "";
    }),
  );
}

test("a listener update keeps the memory, and a bad one keeps the old filter", async (t) => {
  const file = new ListenerFile();
  t.after(() => file.remove());
  const wasm = await buildFilter();
  const fleet = await startFleet(t, {
    wasm,
    edit: (bootstrap) => {
      file.write(bootstrap);
      bootstrap["node"] = { id: "test", cluster: "test" };
      bootstrap["dynamic_resources"] = {
        lds_config: { resource_api_version: "V3", path_config_source: { path: file.path } },
      };
      bootstrap.static_resources.listeners = [];
    },
  });
  const update = (configuration: object): void => {
    const endpoints = fleet.endpoints.map((endpoint) => endpoint.address);
    file.write(loadBootstrap({ bootstrap: "pin", endpoints, wasm, configuration }));
  };
  const counted = async (name: string): Promise<number> => {
    const stat = `listener_manager.lds.${name}`;
    return (await fleet.envoy.stats(`^${stat}$`))[stat] ?? 0;
  };
  const sessions = Array.from({ length: 16 }, (_, index) => new Conversation(`Question ${index}`));
  const homes = await takeTurns(fleet, sessions);

  await t.test("refused, the old filter serves on", async () => {
    update({ policy: "clever" });
    await until("the update is refused", async () => (await counted("update_rejected")) > 0);
    assert.deepEqual(await takeTurns(fleet, sessions), homes);
    assert.match(fleet.envoy.log(), /clever/);
  });

  await t.test("accepted, the new filter knows what the old one knew", async () => {
    const before = await counted("update_success");
    update({ expose_decision: true });
    await until("the update is taken", async () => (await counted("update_success")) > before);
    const probe = new Conversation("probe");
    await until("the new filter serves", async () => {
      const reply = await takeTurn(fleet.envoy.url, probe, "more");
      return reply.headers["x-smetric-decision"] !== undefined;
    });
    assert.deepEqual(await takeTurns(fleet, sessions), homes);
  });
});
