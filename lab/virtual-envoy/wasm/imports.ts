// SPDX-License-Identifier: Apache-2.0
// The imports that Envoy offers to a module of ABI 0.2.1; anything else fails to load, as it does there.
import { bodyImports } from "./imports-body.ts";
import { headerImports } from "./imports-headers.ts";
import { stateImports } from "./imports-state.ts";
import { wasiImports } from "./imports-wasi.ts";
import type { WasmVm } from "./wasm-vm.ts";

/** Import name to function. Note what is absent: env.abort, env.seed, env.proxy_clear_route_cache. */
export type ImportTable = Record<string, (...args: never[]) => unknown>;

export function hostImports(vm: WasmVm): Record<string, ImportTable> {
  const wasi = wasiImports(vm);
  const env = { ...stateImports(vm), ...headerImports(vm), ...bodyImports(vm) };
  const { hostCalls } = vm.surroundings;
  return {
    env: hostCalls === undefined ? env : counted(env, hostCalls),
    wasi_snapshot_preview1: wasi,
    wasi_unstable: wasi,
  };
}

/** Counts calls by name: the cost of a callback that no clock has to measure. */
function counted(table: ImportTable, counts: Map<string, number>): ImportTable {
  const wrapped: ImportTable = {};
  for (const [name, call] of Object.entries(table)) {
    wrapped[name] = (...args: never[]) => {
      counts.set(name, (counts.get(name) ?? 0) + 1);
      return call(...args);
    };
  }
  return wrapped;
}
