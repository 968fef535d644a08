// SPDX-License-Identifier: Apache-2.0
// The npm package: holds what its commands need, and runs where no sources are.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { buildFilter } from "../../cli/build.ts";
import { version } from "../../cli/packaging/version.ts";
import { fromRoot, root } from "../../cli/paths.ts";

const folder = mkdtempSync(join(tmpdir(), "smetric-package-"));
after(() => rmSync(folder, { recursive: true }));

const installed = join(folder, "package");

/** npm tells its scripts where it lies; the npm on PATH may be a dependency's own. */
function npm(...args: string[]): void {
  const self = process.env["npm_execpath"];
  const [command, leading] =
    self !== undefined && /npm-cli\.c?js$/.test(self) ? [process.execPath, [self]] : ["npm", []];
  const { status, stderr } = spawnSync(command, [...leading, ...args], { cwd: root });
  assert.equal(status, 0, stderr?.toString());
}

/** Runs the installed command line in the temporary folder. */
function smetric(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const env = { ...process.env };
  delete env["SMETRIC_ROOT"];
  const launcher = join(installed, "cli", "smetric-envoy.mjs");
  const result = spawnSync(process.execPath, [launcher, ...args], { cwd: folder, env });
  return {
    status: result.status,
    stdout: result.stdout.toString(),
    stderr: result.stderr.toString(),
  };
}

before(async () => {
  await buildFilter("release");
  npm("pack", "--ignore-scripts", "--silent", "--pack-destination", folder);
  const [archive = ""] = readdirSync(folder);
  assert.equal(spawnSync("tar", ["-xzf", archive], { cwd: folder }).status, 0);
  symlinkSync(fromRoot("node_modules"), join(installed, "node_modules"));
});

test("the package holds no sources of the filter and no tests", () => {
  assert.ok(!existsSync(join(installed, "assembly", "index.ts")));
  assert.ok(!existsSync(join(installed, "tests")));
  assert.ok(existsSync(join(installed, "build", "smetric.wasm")));
  assert.ok(existsSync(join(installed, "LICENSE")));
});

test("the installed command line says its version", () => {
  const { status, stdout } = smetric("--version");
  assert.equal(status, 0);
  assert.equal(stdout.trim(), version());
});

test("the installed command line writes a bootstrap and finds nothing wrong with it", () => {
  const written = smetric("init", "envoy", "--out", "gateway");
  assert.equal(written.status, 0, written.stderr);
  const checked = smetric("check", "--strict", "gateway/envoy.yaml");
  assert.equal(checked.stdout, "gateway/envoy.yaml: ok (bootstrap)\n");
  assert.equal(checked.status, 0, checked.stderr);
});

test("a fault of the user is one line and a non-zero exit code", () => {
  const { status, stderr } = smetric("check", "nothing-here.yaml");
  assert.notEqual(status, 0);
  assert.match(stderr, /^smetric-envoy: nothing-here\.yaml cannot be read: .*\n$/);
});
