// SPDX-License-Identifier: Apache-2.0
// How a host call hands bytes to the guest: memory from the guest's malloc, pointer and size through out-parameters.
import { Status } from "./abi.ts";
import type { WasmVm } from "./wasm-vm.ts";

/** Copies `bytes` into fresh guest memory; empty values give a null pointer, as in Envoy. */
export function returnBytes(
  vm: WasmVm,
  bytes: Uint8Array,
  pointerAt: number,
  sizeAt: number,
): Status {
  const size = bytes.length;
  return returnWritten(vm, size, pointerAt, sizeAt, (view, at) => view.set(bytes, at));
}

/** The same for a string of one byte per character. */
export function returnText(vm: WasmVm, text: string, pointerAt: number, sizeAt: number): Status {
  const write = (view: Buffer, at: number): unknown => view.write(text, at, "latin1");
  return returnWritten(vm, text.length, pointerAt, sizeAt, write);
}

/** Lets `write` fill `size` bytes of fresh guest memory. */
export function returnWritten(
  vm: WasmVm,
  size: number,
  pointerAt: number,
  sizeAt: number,
  write: (view: Buffer, at: number) => unknown,
): Status {
  const { memory } = vm;
  let address = 0;
  if (size > 0) {
    address = vm.allocate(size);
    if (address === 0 || !memory.contains(address, size)) return Status.InvalidMemoryAccess;
    write(memory.view(), address);
  }
  const written = memory.writeWord(pointerAt, address) && memory.writeWord(sizeAt, size);
  return written ? Status.Ok : Status.InvalidMemoryAccess;
}
