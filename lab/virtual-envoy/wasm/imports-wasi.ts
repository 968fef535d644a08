// SPDX-License-Identifier: Apache-2.0
// The WASI functions that Envoy answers: output to the log, realtime clock, chance; the rest refuses.
import type { GuestMemory } from "./guest-memory.ts";
import type { ImportTable } from "./imports.ts";
import type { WasmVm } from "./wasm-vm.ts";

const SUCCESS = 0;
const EBADF = 8;
const EFAULT = 21;
const ENOSYS = 52;
const ENOTSUP = 58;
const STDOUT = 1;
const STDERR = 2;
const IOVEC_BYTES = 8;

export function wasiImports(vm: WasmVm): ImportTable {
  const memory = (): GuestMemory => vm.memory;
  const zeroWords = (...addresses: number[]): number =>
    addresses.every((address) => memory().writeWord(address >>> 0, 0)) ? SUCCESS : EFAULT;
  return {
    fd_write(fd: number, vectors: number, count: number, writtenAt: number) {
      if (fd !== STDOUT && fd !== STDERR) return EBADF;
      let text = "";
      for (let index = 0; index < count; index++) {
        const vector = memory().slice((vectors >>> 0) + index * IOVEC_BYTES, IOVEC_BYTES);
        if (vector === undefined) return EFAULT;
        const bytes = memory().slice(vector.readUInt32LE(0), vector.readUInt32LE(4));
        if (bytes === undefined) return EFAULT;
        text += bytes.toString("utf8");
      }
      if (text.length > 0) vm.log(fd === STDOUT ? "info" : "error", text.replace(/\n$/, ""));
      return memory().writeWord(writtenAt >>> 0, Buffer.byteLength(text)) ? SUCCESS : EFAULT;
    },
    clock_time_get(clockId: number, _precision: bigint, resultAt: number) {
      if (clockId !== 0) return ENOTSUP;
      const nowNs = BigInt(Math.floor(vm.surroundings.clock.nowUs)) * 1000n;
      return memory().writeLong(resultAt >>> 0, nowNs) ? SUCCESS : EFAULT;
    },
    random_get(start: number, size: number) {
      const bytes = memory().slice(start >>> 0, size >>> 0);
      if (bytes === undefined) return EFAULT;
      for (let index = 0; index < bytes.length; index++) {
        bytes[index] = vm.surroundings.random.below(256);
      }
      return SUCCESS;
    },
    args_get: () => SUCCESS,
    args_sizes_get: (countAt: number, sizeAt: number) => zeroWords(countAt, sizeAt),
    environ_get: () => SUCCESS,
    environ_sizes_get: (countAt: number, sizeAt: number) => zeroWords(countAt, sizeAt),
    fd_read: () => ENOSYS,
    fd_seek: () => SUCCESS,
    fd_close: () => SUCCESS,
    fd_fdstat_get: (fd: number) => (fd === STDOUT || fd === STDERR ? SUCCESS : EBADF),
    proc_exit: () => undefined,
  };
}
