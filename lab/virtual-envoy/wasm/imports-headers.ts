// SPDX-License-Identifier: Apache-2.0
// Host calls on header and trailer maps.
import type { HeaderMap } from "../http/header-map.ts";
import { Status } from "./abi.ts";
import type { ImportTable } from "./imports.ts";
import { pairsSize, readPairs, writePairs } from "./pairs.ts";
import { returnText, returnWritten } from "./results.ts";
import type { WasmVm } from "./wasm-vm.ts";

const LAST_MAP_TYPE = 7;

export function headerImports(vm: WasmVm): ImportTable {
  const { text, change } = headerTools(vm);
  return {
    proxy_get_header_map_value(
      type: number,
      namePtr: number,
      nameSize: number,
      ptrAt: number,
      sizeAt: number,
    ) {
      if (type > LAST_MAP_TYPE) return Status.BadArgument;
      const name = text(namePtr, nameSize);
      if (name === undefined) return Status.InvalidMemoryAccess;
      const map = vm.target().readableMap(type);
      if (map === undefined) return Status.BadArgument;
      const value = map.get(name);
      if (value === undefined) return Status.NotFound;
      return returnText(vm, value, ptrAt >>> 0, sizeAt >>> 0);
    },
    proxy_get_header_map_pairs(type: number, ptrAt: number, sizeAt: number) {
      if (type > LAST_MAP_TYPE) return Status.BadArgument;
      const pairs = vm.target().readableMap(type)?.entries() ?? [];
      const size = pairs.length === 0 ? 0 : pairsSize(pairs);
      const write = (view: Buffer, at: number): void => writePairs(pairs, view, at);
      return returnWritten(vm, size, ptrAt >>> 0, sizeAt >>> 0, write);
    },
    proxy_get_header_map_size(type: number, resultAt: number) {
      const map = vm.target().readableMap(type);
      if (map === undefined) return Status.BadArgument;
      const written = vm.memory.writeWord(resultAt >>> 0, map.byteSize);
      return written ? Status.Ok : Status.InvalidMemoryAccess;
    },
    proxy_add_header_map_value(type: number, n: number, nSize: number, v: number, vSize: number) {
      return change(type, n, nSize, v, vSize, (map, name, value) => map.add(name, value));
    },
    proxy_replace_header_map_value(
      type: number,
      n: number,
      nSize: number,
      v: number,
      vSize: number,
    ) {
      return change(type, n, nSize, v, vSize, (map, name, value) => map.set(name, value));
    },
    proxy_remove_header_map_value(type: number, n: number, nSize: number) {
      return change(type, n, nSize, 0, 0, (map, name) => map.remove(name));
    },
    proxy_set_header_map_pairs(type: number, start: number, size: number) {
      if (type > LAST_MAP_TYPE) return Status.BadArgument;
      const bytes = vm.memory.slice(start >>> 0, size >>> 0);
      if (bytes === undefined) return Status.InvalidMemoryAccess;
      const context = vm.target();
      const map = context.writableMap(type);
      if (map === undefined) return Status.BadArgument;
      map.replaceAll(readPairs(bytes));
      context.headersChanged(type);
      return Status.Ok;
    },
  };
}

type Change = (map: HeaderMap, name: string, value: string) => void;

function headerTools(vm: WasmVm) {
  const text = (start: number, size: number): string | undefined =>
    vm.memory.text(start >>> 0, size >>> 0);

  /** Applies `apply` to a map the guest may change now; every change of request headers clears the route cache. */
  function change(
    type: number,
    namePtr: number,
    nameSize: number,
    valuePtr: number,
    valueSize: number,
    apply: Change,
  ): Status {
    if (type > LAST_MAP_TYPE) return Status.BadArgument;
    const name = text(namePtr, nameSize);
    const value = text(valuePtr, valueSize);
    if (name === undefined || value === undefined) return Status.InvalidMemoryAccess;
    const context = vm.target();
    const map = context.writableMap(type);
    if (map === undefined) return Status.BadArgument;
    apply(map, name, value);
    context.headersChanged(type);
    return Status.Ok;
  }

  return { text, change };
}
