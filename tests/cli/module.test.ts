// SPDX-License-Identifier: Apache-2.0
// The built module: small, the same bytes every time, and asking the host for nothing that Envoy lacks.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { buildFilter } from "../../cli/build.ts";
import { fromRoot, root } from "../../cli/paths.ts";

/** Fits into a ConfigMap (1 MiB) with room for everything else. */
const MAX_MODULE_BYTES = 512 * 1024;

const folder = mkdtempSync(join(tmpdir(), "smetric-module-"));
after(() => rmSync(folder, { recursive: true }));

const bytes = readFileSync(await buildFilter("release"));
const module = new WebAssembly.Module(bytes);

test("the module stays within its size budget", () => {
  assert.ok(bytes.length <= MAX_MODULE_BYTES, `${bytes.length} bytes`);
});

/** Functions beside proxy-wasm's that Envoy offers to a module. */
const SYSTEM_FUNCTIONS = ["wasi_snapshot_preview1.random_get"];

test("the module imports what Envoy offers and nothing else", () => {
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    assert.equal(kind, "function", name);
    if (SYSTEM_FUNCTIONS.includes(`${from}.${name}`)) continue;
    assert.equal(from, "env", name);
    assert.match(name, /^proxy_/);
    // Declared by SDKs, but Envoy refuses modules that import them.
    assert.doesNotMatch(name, /^proxy_(clear_route_cache|set_upstream_override_host)$/);
  }
});

test("the module speaks ABI 0.2.1 and lets the host allocate", () => {
  const exports = WebAssembly.Module.exports(module).map(({ name }) => name);
  for (const name of ["proxy_abi_version_0_2_1", "malloc", "memory", "proxy_on_configure"]) {
    assert.ok(exports.includes(name), name);
  }
});

test("building it again makes the same bytes", () => {
  const again = join(folder, "again.wasm");
  const asc = fromRoot("node_modules", "assemblyscript", "bin", "asc.js");
  const options = ["--config", "asconfig.json", "--target", "release", "--outFile", again];
  const result = spawnSync(process.execPath, [asc, "assembly/index.ts", ...options], { cwd: root });
  assert.equal(result.status, 0, result.stderr.toString());
  assert.ok(readFileSync(again).equals(bytes));
});
