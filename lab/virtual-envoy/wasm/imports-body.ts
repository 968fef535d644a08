// SPDX-License-Identifier: Apache-2.0
// Host calls on bodies, on the course of a stream, and side calls.
import { ByteBuffer } from "../http/byte-buffer.ts";
import { BufferType, Status, StreamType } from "./abi.ts";
import type { ImportTable } from "./imports.ts";
import { readPairs } from "./pairs.ts";
import { returnBytes, returnWritten } from "./results.ts";
import type { WasmVm } from "./wasm-vm.ts";

const LAST_BUFFER_TYPE = 8;

export function bodyImports(vm: WasmVm): ImportTable {
  return { ...bufferImports(vm), ...streamImports(vm), ...callImports(vm) };
}

function bufferImports(vm: WasmVm): ImportTable {
  const bufferOf = (type: number): ByteBuffer | Uint8Array | undefined => vm.target().buffer(type);
  return {
    proxy_get_buffer_bytes(
      type: number,
      start: number,
      length: number,
      ptrAt: number,
      sizeAt: number,
    ) {
      if (type > LAST_BUFFER_TYPE) return Status.BadArgument;
      const buffer = bufferOf(type);
      if (buffer === undefined) return Status.NotFound;
      const from = start >>> 0;
      if (from > buffer.length) return Status.BadArgument;
      const size = Math.min(length >>> 0, buffer.length - from);
      if (size === 0) return Status.Ok; // The out-parameters stay untouched, as in Envoy.
      if (!(buffer instanceof ByteBuffer)) {
        return returnBytes(vm, buffer.subarray(from, from + size), ptrAt >>> 0, sizeAt >>> 0);
      }
      const copy = (view: Buffer, at: number): void =>
        buffer.copyOut(from, size, view.subarray(at, at + size));
      return returnWritten(vm, size, ptrAt >>> 0, sizeAt >>> 0, copy);
    },
    proxy_get_buffer_status(type: number, lengthAt: number, flagsAt: number) {
      if (type > LAST_BUFFER_TYPE) return Status.BadArgument;
      const buffer = bufferOf(type);
      if (buffer === undefined) return Status.NotFound;
      const { memory } = vm;
      const written =
        memory.writeWord(lengthAt >>> 0, buffer.length) && memory.writeWord(flagsAt >>> 0, 0);
      return written ? Status.Ok : Status.InvalidMemoryAccess;
    },
    proxy_set_buffer_bytes(
      type: number,
      start: number,
      length: number,
      data: number,
      size: number,
    ) {
      if (type > LAST_BUFFER_TYPE) return Status.BadArgument;
      const buffer = bufferOf(type);
      if (buffer === undefined) return Status.NotFound;
      const bytes = vm.memory.slice(data >>> 0, size >>> 0);
      if (bytes === undefined) return Status.InvalidMemoryAccess;
      if (!(buffer instanceof ByteBuffer) || type > BufferType.ResponseBody) {
        return Status.BadArgument;
      }
      return replaceBytes(buffer, start >>> 0, length >>> 0, new Uint8Array(bytes));
    },
  };
}

/** Prepend, replace all, or append; other ranges are refused, as in Envoy. */
function replaceBytes(buffer: ByteBuffer, start: number, length: number, bytes: Uint8Array) {
  if (start === 0 && length === 0) {
    buffer.prepend(bytes);
    return Status.Ok;
  }
  if (start === 0 && length >= buffer.length) {
    buffer.take();
    buffer.add(bytes);
    return Status.Ok;
  }
  if (start === 0 || start < buffer.length) return Status.BadArgument;
  buffer.add(bytes);
  return Status.Ok;
}

function streamImports(vm: WasmVm): ImportTable {
  return {
    proxy_continue_stream(type: number) {
      return type > StreamType.Upstream ? Status.BadArgument : vm.target().continueStream(type);
    },
    proxy_close_stream(type: number) {
      return type > StreamType.Upstream ? Status.BadArgument : vm.target().closeStream(type);
    },
    proxy_send_local_response(
      status: number,
      detailsPtr: number,
      detailsSize: number,
      bodyPtr: number,
      bodySize: number,
      pairsPtr: number,
      pairsBytes: number,
    ) {
      const details = vm.memory.text(detailsPtr >>> 0, detailsSize >>> 0);
      const body = vm.memory.slice(bodyPtr >>> 0, bodySize >>> 0);
      const pairs = vm.memory.slice(pairsPtr >>> 0, pairsBytes >>> 0);
      if (details === undefined || body === undefined || pairs === undefined) {
        return Status.InvalidMemoryAccess;
      }
      const headers = readPairs(pairs);
      vm.target().sendLocalReply({ status, details, body: new Uint8Array(body), headers });
      vm.replied = true;
      return Status.Ok;
    },
    proxy_set_effective_context(id: number) {
      if (!vm.contexts.has(id >>> 0)) return Status.BadArgument;
      vm.effectiveId = id >>> 0;
      return Status.Ok;
    },
    proxy_done: () => Status.Ok,
  };
}

function callImports(vm: WasmVm): ImportTable {
  const unsupported = (): Status => Status.Unimplemented;
  return {
    proxy_http_call(
      uriPtr: number,
      uriSize: number,
      headersPtr: number,
      headersSize: number,
      bodyPtr: number,
      bodySize: number,
      trailersPtr: number,
      trailersSize: number,
      timeoutMs: number,
      tokenAt: number,
    ) {
      const { memory } = vm;
      const cluster = memory.text(uriPtr >>> 0, uriSize >>> 0);
      const pairs = memory.slice(headersPtr >>> 0, headersSize >>> 0);
      const body = memory.slice(bodyPtr >>> 0, bodySize >>> 0);
      const trailers = memory.slice(trailersPtr >>> 0, trailersSize >>> 0);
      if (cluster === undefined || pairs === undefined) return Status.InvalidMemoryAccess;
      if (body === undefined || trailers === undefined) return Status.InvalidMemoryAccess;
      const headers = readPairs(pairs);
      const names = new Set(headers.map(([name]) => name));
      for (const needed of [":method", ":path", ":authority"]) {
        if (!names.has(needed)) return Status.BadArgument;
      }
      const call = { cluster, headers, body: new Uint8Array(body), timeoutMs };
      const token = vm.startSideCall(call);
      if (token === 0) return Status.BadArgument;
      return memory.writeWord(tokenAt >>> 0, token) ? Status.Ok : Status.InvalidMemoryAccess;
    },
    proxy_grpc_call: unsupported,
    proxy_grpc_stream: unsupported,
    proxy_grpc_cancel: unsupported,
    proxy_grpc_close: unsupported,
    proxy_grpc_send: unsupported,
    proxy_call_foreign_function(
      namePtr: number,
      nameSize: number,
      argsPtr: number,
      argsSize: number,
      resultAt: number,
      sizeAt: number,
    ) {
      const name = vm.memory.text(namePtr >>> 0, nameSize >>> 0);
      if (name === undefined) return Status.InvalidMemoryAccess;
      if (!vm.memory.contains(argsPtr >>> 0, argsSize >>> 0)) return Status.InvalidMemoryAccess;
      if (name !== "clear_route_cache") return Status.NotFound;
      vm.target().clearRouteCache();
      if (resultAt !== 0) vm.memory.writeWord(resultAt >>> 0, 0);
      if (sizeAt !== 0) vm.memory.writeWord(sizeAt >>> 0, 0);
      return Status.Ok;
    },
  };
}
