// SPDX-License-Identifier: Apache-2.0
// Host calls on what outlives a stream: log, clock, ticks, properties, shared data, queues, metrics.
import { LOG_LEVELS, MetricType, Status } from "./abi.ts";
import type { ImportTable } from "./imports.ts";
import { returnBytes } from "./results.ts";
import type { WasmVm } from "./wasm-vm.ts";

const METRIC_TYPE_MASK = 3;
const METRIC_ID_STEP = 4;

export function stateImports(vm: WasmVm): ImportTable {
  return {
    ...surroundingsImports(vm),
    ...propertyImports(vm),
    ...sharedDataImports(vm),
    ...queueImports(vm),
    ...metricImports(vm),
  };
}

function surroundingsImports(vm: WasmVm): ImportTable {
  return {
    proxy_log(level: number, start: number, size: number) {
      const name = LOG_LEVELS[level];
      if (name === undefined) return Status.BadArgument;
      const bytes = vm.memory.slice(start >>> 0, size >>> 0);
      if (bytes === undefined) return Status.InvalidMemoryAccess;
      vm.log(name, bytes.toString("utf8"));
      return Status.Ok;
    },
    proxy_get_log_level(resultAt: number) {
      const written = vm.memory.writeWord(resultAt >>> 0, LOG_LEVELS.indexOf("info"));
      return written ? Status.Ok : Status.InvalidMemoryAccess;
    },
    proxy_get_current_time_nanoseconds(resultAt: number) {
      const nowNs = BigInt(Math.floor(vm.surroundings.clock.nowUs)) * 1000n;
      return vm.memory.writeLong(resultAt >>> 0, nowNs) ? Status.Ok : Status.InvalidMemoryAccess;
    },
    proxy_set_tick_period_milliseconds(periodMs: number) {
      vm.setTickPeriod(periodMs >>> 0);
      return Status.Ok;
    },
    proxy_get_status(codeAt: number, ptrAt: number, sizeAt: number) {
      if (!vm.memory.writeWord(codeAt >>> 0, 0)) return Status.InvalidMemoryAccess;
      return returnBytes(vm, new Uint8Array(0), ptrAt >>> 0, sizeAt >>> 0);
    },
    pthread_equal: (left: number, right: number) => (left === right ? 1 : 0),
    emscripten_notify_memory_growth: () => undefined,
  };
}

function propertyImports(vm: WasmVm): ImportTable {
  return {
    proxy_get_property(start: number, size: number, ptrAt: number, sizeAt: number) {
      const path = vm.memory.text(start >>> 0, size >>> 0);
      if (path === undefined) return Status.InvalidMemoryAccess;
      const value = vm.surroundings.property(path) ?? vm.target().property(path);
      if (value === undefined) return Status.NotFound;
      if (typeof value === "number") return value;
      return returnBytes(vm, value, ptrAt >>> 0, sizeAt >>> 0);
    },
    proxy_set_property(start: number, size: number, valuePtr: number, valueSize: number) {
      const path = vm.memory.text(start >>> 0, size >>> 0);
      const value = vm.memory.slice(valuePtr >>> 0, valueSize >>> 0);
      if (path === undefined || value === undefined) return Status.InvalidMemoryAccess;
      return vm.target().setProperty(path, new Uint8Array(value));
    },
  };
}

function sharedDataImports(vm: WasmVm): ImportTable {
  const { sharedData, plugin } = vm.surroundings;
  return {
    proxy_get_shared_data(
      start: number,
      size: number,
      ptrAt: number,
      sizeAt: number,
      casAt: number,
    ) {
      const key = vm.memory.text(start >>> 0, size >>> 0);
      if (key === undefined) return Status.InvalidMemoryAccess;
      const found = sharedData.get(plugin.vmId, key);
      if (found === undefined) return Status.NotFound;
      const status = returnBytes(vm, found.bytes, ptrAt >>> 0, sizeAt >>> 0);
      if (status !== Status.Ok) return status;
      return vm.memory.writeWord(casAt >>> 0, found.cas) ? Status.Ok : Status.InvalidMemoryAccess;
    },
    proxy_set_shared_data(start: number, size: number, data: number, length: number, cas: number) {
      const key = vm.memory.text(start >>> 0, size >>> 0);
      const bytes = vm.memory.slice(data >>> 0, length >>> 0);
      if (key === undefined || bytes === undefined) return Status.InvalidMemoryAccess;
      return sharedData.set(plugin.vmId, key, bytes, cas >>> 0);
    },
  };
}

function queueImports(vm: WasmVm): ImportTable {
  const { queues, plugin } = vm.surroundings;
  const text = (start: number, size: number): string | undefined =>
    vm.memory.text(start >>> 0, size >>> 0);
  return {
    proxy_register_shared_queue(start: number, size: number, tokenAt: number) {
      const name = text(start, size);
      if (name === undefined) return Status.InvalidMemoryAccess;
      const token = queues.register(plugin.vmId, name, () =>
        vm.surroundings.post(() => vm.call(vm.root, "proxy_on_queue_ready", vm.root.id, token)),
      );
      return vm.memory.writeWord(tokenAt >>> 0, token) ? Status.Ok : Status.InvalidMemoryAccess;
    },
    proxy_resolve_shared_queue(
      vmPtr: number,
      vmSize: number,
      start: number,
      size: number,
      tokenAt: number,
    ) {
      const owner = text(vmPtr, vmSize);
      const name = text(start, size);
      if (owner === undefined || name === undefined) return Status.InvalidMemoryAccess;
      const token = queues.resolve(owner === "" ? plugin.vmId : owner, name);
      if (token === 0) return Status.NotFound;
      return vm.memory.writeWord(tokenAt >>> 0, token) ? Status.Ok : Status.InvalidMemoryAccess;
    },
    proxy_enqueue_shared_queue(token: number, start: number, size: number) {
      const bytes = vm.memory.slice(start >>> 0, size >>> 0);
      if (bytes === undefined) return Status.InvalidMemoryAccess;
      return queues.enqueue(token, new Uint8Array(bytes));
    },
    proxy_dequeue_shared_queue(token: number, ptrAt: number, sizeAt: number) {
      const item = queues.dequeue(token);
      return typeof item === "number" ? item : returnBytes(vm, item, ptrAt >>> 0, sizeAt >>> 0);
    },
  };
}

function metricImports(vm: WasmVm): ImportTable {
  const { metrics } = vm.surroundings;
  return {
    proxy_define_metric(type: number, start: number, size: number, idAt: number) {
      if (type < MetricType.Counter || type > MetricType.Histogram) return Status.BadArgument;
      const name = vm.memory.text(start >>> 0, size >>> 0);
      if (name === undefined) return Status.InvalidMemoryAccess;
      const id = (vm.stats.size + vm.histograms.size + 1) * METRIC_ID_STEP + type;
      if (type === MetricType.Histogram) vm.histograms.set(id, metrics.histogram(name));
      else if (type === MetricType.Gauge) vm.stats.set(id, metrics.gauge(name));
      else vm.stats.set(id, metrics.counter(name));
      return vm.memory.writeWord(idAt >>> 0, id) ? Status.Ok : Status.InvalidMemoryAccess;
    },
    proxy_increment_metric(id: number, offset: bigint) {
      if ((id & METRIC_TYPE_MASK) > MetricType.Gauge) return Status.BadArgument;
      const stat = vm.stats.get(id);
      if (stat === undefined) return Status.NotFound;
      const isCounter = (id & METRIC_TYPE_MASK) === MetricType.Counter;
      if (isCounter && offset <= 0n) return Status.BadArgument;
      stat.add(offset);
      return Status.Ok;
    },
    proxy_record_metric(id: number, value: bigint) {
      const unsigned = BigInt.asUintN(64, value);
      const histogram = vm.histograms.get(id);
      const stat = vm.stats.get(id);
      if (histogram !== undefined) histogram.record(unsigned);
      else if (stat === undefined) return Status.NotFound;
      else if ((id & METRIC_TYPE_MASK) === MetricType.Counter) stat.add(unsigned);
      else stat.set(unsigned);
      return Status.Ok;
    },
    proxy_get_metric(id: number, resultAt: number) {
      if ((id & METRIC_TYPE_MASK) > MetricType.Gauge) return Status.BadArgument;
      const stat = vm.stats.get(id);
      if (stat === undefined) return Status.NotFound;
      const written = vm.memory.writeLong(resultAt >>> 0, stat.value);
      return written ? Status.Ok : Status.InvalidMemoryAccess;
    },
  };
}
