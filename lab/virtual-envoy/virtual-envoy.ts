// SPDX-License-Identifier: Apache-2.0
// A small honest Envoy: hosts the compiled filter in several workers under virtual time, in front of one or more clusters.
import { readFileSync } from "node:fs";
import { VirtualClock } from "./clock.ts";
import { Cluster } from "./cluster/cluster.ts";
import type { Endpoint } from "./cluster/endpoint.ts";
import { EventLoop } from "./event-loop.ts";
import type { StreamFilter } from "./filters/filter.ts";
import {
  bufferFilter,
  headerMutationFilter,
  statefulSessionFilter,
} from "./filters/native-filters.ts";
import { WasmFilter } from "./filters/wasm-filter.ts";
import { HeaderMap } from "./http/header-map.ts";
import type { Observation } from "./http/observation.ts";
import { route, type Route } from "./http/route.ts";
import { Stream, type StreamHost } from "./http/stream.ts";
import type { StreamInfo } from "./http/stream-info.ts";
import type { UpstreamRequest } from "./http/upstream-request.ts";
import { observe } from "./observe.ts";
import {
  chainOf,
  DEFAULT_LIMITS,
  type ChainFilter,
  type OpenOptions,
  type RequestOptions,
  type VirtualEnvoyOptions,
} from "./options.ts";
import { seededRandom, type Random } from "./random.ts";
import { Metrics } from "./wasm/metrics.ts";
import { SharedData } from "./wasm/shared-data.ts";
import { SharedQueues } from "./wasm/shared-queues.ts";
import { LoadFailure, WasmVm, type LogLine, type VmSurroundings } from "./wasm/wasm-vm.ts";
import { Worker, type VmFactory } from "./worker.ts";

const LOG_LINES_KEPT = 10_000;

export class VirtualEnvoy implements StreamHost {
  readonly clock: VirtualClock;
  readonly loop: EventLoop;
  readonly metrics = new Metrics();
  readonly sharedData = new SharedData();
  readonly hostCalls = new Map<string, number>();
  /** The most recent log lines of all VMs. */
  readonly logs: LogLine[] = [];
  readonly workers: Worker[];
  readonly limits;
  readonly routes: readonly Route[];
  readonly keepBodies: boolean;
  private readonly clusters = new Map<string, Cluster>();
  private readonly chain: ChainFilter[];
  private readonly random: Random;
  private readonly module: WebAssembly.Module;
  private readonly surroundings: VmSurroundings;
  private readonly main: Worker;
  private readonly connections = new Map<string | number, Worker>();
  private readonly streamWorkers = new WeakMap<Stream, Worker>();
  private openStreams = 0;
  private lastStreamId = 0;
  private lastConnectionId = 0;

  /** @throws LoadFailure when the module or its configuration is refused: real Envoy exits here */
  constructor(private readonly options: VirtualEnvoyOptions) {
    this.clock = new VirtualClock(options.startUs);
    this.loop = new EventLoop(this.clock);
    this.random = seededRandom(options.seed ?? 1);
    this.limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.keepBodies = options.keepBodies ?? true;
    this.chain = chainOf(options.chain);
    this.buildClusters();
    const first = [...this.clusters.keys()][0] ?? "llm";
    this.routes = (options.routes ?? [{ cluster: first }]).map(route);
    this.module = compile(options.wasm);
    this.surroundings = this.buildSurroundings();
    const factory = this.validated(options.configuration);
    const policy = options.failurePolicy ?? "fail_reload";
    const start = (name: string): Worker => new Worker(name, this.loop, policy, factory);
    this.main = start("main");
    const names = Array.from({ length: options.workers ?? 1 }, (_, index) => `worker-${index}`);
    this.workers = names.map(start);
  }

  /** Streams that have begun and not ended. */
  get open(): number {
    return this.openStreams;
  }

  /** Bytes of linear memory of each worker's VM. */
  get memoryBytes(): number[] {
    return this.workers.map((worker) => worker.vm.memory.sizeBytes);
  }

  cluster(name: string): Cluster | undefined {
    return this.clusters.get(name);
  }

  /** An endpoint of the first cluster that has it. @throws Error when there is none */
  endpoint(address: string): Endpoint {
    for (const cluster of this.clusters.values()) {
      if (cluster.has(address)) return cluster.endpoint(address);
    }
    throw new Error(`no cluster has an endpoint ${address}`);
  }

  /** Opens a stream with its head; body, end and answer follow step by step. */
  openStream(options: OpenOptions = {}): Stream {
    const worker = this.workerOf(options);
    const protocol = options.protocol ?? "http1";
    this.lastStreamId += 1;
    this.openStreams += 1;
    const requestId = `00000000-0000-4000-8000-${String(this.lastStreamId).padStart(12, "0")}`;
    const headers = requestHead(options, requestId);
    const connectionId = worker.connectionId;
    const info = newInfo(requestId, connectionId, protocol, this.clock.nowUs);
    let refused = false;
    const stream = new Stream(this, info, headers, (created) => {
      const filters = this.buildFilters(created, worker.worker);
      refused = filters === undefined;
      return filters ?? [];
    });
    worker.worker.add(stream);
    this.streamWorkers.set(stream, worker.worker);
    if (refused) stream.localReply(503, "wasm_fail_stream", 0);
    else stream.begin(options.end ?? false);
    return stream;
  }

  /** A whole exchange; what the endpoint answers is in `options.response`. */
  request(options: RequestOptions = {}): Observation {
    return this.observe(this.send(options));
  }

  /** Like `request`, but hands over the stream. */
  send(options: RequestOptions = {}): Stream {
    const { chunks, body, trailers } = options;
    const parts = chunks ?? (body === undefined ? [] : [body]);
    const headers = HeaderMap.from(options.headers ?? {});
    const size = parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
    const counted = options.contentLength ?? (chunks === undefined && trailers === undefined);
    const bare = parts.length === 0 && trailers === undefined;
    const empty = bare || (counted && size === 0); // `content-length: 0` ends with the head.
    if (!bare && counted) headers.set("content-length", String(size));
    const method = options.method ?? (bare ? "GET" : "POST");
    const stream = this.openStream({ ...options, method, headers: headers.entries(), end: empty });
    const apart = !(options.endOnLastFrame ?? false);
    parts.forEach((part, index) => {
      const last = index === parts.length - 1 && trailers === undefined;
      stream.sendChunk(part, last, apart);
    });
    if (trailers !== undefined) stream.end(trailers);
    this.answer(stream, options);
    return stream;
  }

  observe(stream: Stream): Observation {
    return observe(stream);
  }

  /** Lets `ms` of virtual time pass: ticks, timeouts, side calls. */
  tick(ms: number): void {
    this.clock.advanceTo(this.clock.nowUs + ms * 1000);
  }

  advanceTo(us: number): void {
    this.clock.advanceTo(us);
  }

  /**
   * A listener update with a new plugin configuration.
   * @returns false when the filter refuses it: the old one keeps serving
   */
  update(configuration: unknown): boolean {
    let factory: VmFactory;
    try {
      factory = this.validated(configuration);
    } catch (error) {
      if (error instanceof LoadFailure) return false;
      throw error;
    }
    for (const worker of [this.main, ...this.workers]) worker.replace(factory);
    return true;
  }

  /** The next callback in this worker's VM traps. */
  crash(worker: number): void {
    this.workers[worker]!.vm.trapNext = true;
  }

  /** Stops all ticks; open streams stay as they are. */
  close(): void {
    for (const worker of [this.main, ...this.workers]) worker.stop();
  }

  upstreamStarted(stream: Stream): void {
    this.options.upstream?.started?.(stream);
  }

  upstreamEnded(stream: Stream): void {
    this.options.upstream?.ended?.(stream);
  }

  upstreamCancelled(stream: Stream, upstream: UpstreamRequest): void {
    this.options.upstream?.cancelled?.(stream, upstream);
  }

  streamEnded(stream: Stream): void {
    this.openStreams -= 1;
    this.streamWorkers.get(stream)?.remove(stream);
  }

  private answer(stream: Stream, options: RequestOptions): void {
    const { response = {} } = options;
    if (response === false || this.options.upstream !== undefined) return;
    if (stream.upstream?.ended) stream.respond(response);
  }

  /** Undefined when the VM is gone and the policy refuses streams. */
  private buildFilters(stream: Stream, worker: Worker): StreamFilter[] | undefined {
    const filters: StreamFilter[] = [];
    for (const filter of this.chain) {
      if (filter.name === "buffer") filters.push(bufferFilter(stream, filter.maxRequestBytes));
      else if (filter.name === "header_mutation") {
        filters.push(headerMutationFilter(stream, filter.mutations));
      } else if (filter.name === "stateful_session") {
        filters.push(statefulSessionFilter(stream, filter.header));
      } else {
        const vm = worker.vmForStream();
        if (vm === "refuse") return undefined;
        if (vm === "bypass") continue;
        const trace = (this.options.trace ?? true) ? stream.callbacks : undefined;
        stream.wasm = new WasmFilter(vm, stream, this.options.flag ?? true, trace);
        filters.push(stream.wasm);
      }
    }
    return filters;
  }

  private workerOf(options: OpenOptions): { worker: Worker; connectionId: number } {
    this.lastConnectionId += 1;
    const { connection } = options;
    const known = connection === undefined ? undefined : this.connections.get(connection);
    const index = options.worker ?? this.random.below(this.workers.length);
    const worker = known ?? this.workers[index]!;
    if (connection !== undefined) this.connections.set(connection, worker);
    return { worker, connectionId: this.lastConnectionId };
  }

  private buildClusters(): void {
    const { clusters, endpoints } = this.options;
    const list = clusters ?? [{ name: "llm", endpoints: endpoints ?? ["10.0.0.1:8000"] }];
    for (const options of list) {
      const cluster = new Cluster(options, this.random);
      this.clusters.set(cluster.name, cluster);
    }
  }

  private buildSurroundings(): VmSurroundings {
    const { options } = this;
    return {
      clock: this.clock,
      random: this.random,
      sharedData: this.sharedData,
      queues: new SharedQueues(),
      metrics: this.metrics,
      hostCalls: options.countHostCalls ? this.hostCalls : undefined,
      plugin: {
        name: options.pluginName ?? "smetric",
        rootId: options.rootId ?? "smetric",
        vmId: options.vmId ?? "smetric",
      },
      log: (line) => this.log(line),
      property: (path) => options.property?.(path),
      sideCall: (call) => options.sideCall?.(call),
      post: (task) => this.loop.post(task),
      after: (delayUs, task) => this.loop.after(delayUs, task),
    };
  }

  private log(line: LogLine): void {
    this.logs.push(line);
    if (this.logs.length > LOG_LINES_KEPT) this.logs.shift();
    this.options.onLog?.(line);
  }

  /** Starts a throw-away base VM with the configuration first, as Envoy does. */
  private validated(configuration: unknown): VmFactory {
    const text = configurationText(configuration);
    const factory: VmFactory = (name) => {
      const before = this.logs.length;
      const vm = new WasmVm(this.module, name, this.surroundings);
      const accepted = vm.start() && vm.configure(text);
      if (accepted) return vm;
      const said = this.logs.slice(before).map((line) => line.message);
      throw new LoadFailure(["Configuration of the filter was refused", ...said].join("\n"));
    };
    factory("base");
    return factory;
  }
}

function compile(wasm: string | Uint8Array): WebAssembly.Module {
  const bytes = typeof wasm === "string" ? readFileSync(wasm) : wasm;
  return new WebAssembly.Module(new Uint8Array(bytes));
}

function configurationText(configuration: unknown): string {
  if (configuration === undefined) return "{}";
  return typeof configuration === "string" ? configuration : JSON.stringify(configuration);
}

function requestHead(options: OpenOptions, requestId: string): HeaderMap {
  const map = HeaderMap.from([
    [":authority", options.authority ?? "gateway.test"],
    [":path", options.path ?? "/"],
    [":method", options.method ?? (options.end ? "GET" : "POST")],
    [":scheme", "http"],
  ]);
  for (const [name, value] of HeaderMap.from(options.headers ?? {}).entries()) map.add(name, value);
  map.set("x-forwarded-proto", "http");
  map.set("x-request-id", requestId);
  return map;
}

function newInfo(
  requestId: string,
  connectionId: number,
  protocol: StreamInfo["protocol"],
  startUs: number,
): StreamInfo {
  return {
    requestId,
    connectionId,
    protocol,
    startUs,
    endUs: undefined,
    route: undefined,
    endpoint: undefined,
    attempts: 0,
    responseCode: undefined,
    details: "",
    flags: 0,
    requestBytes: 0,
    responseBytes: 0,
    respondedUs: undefined,
    transportFailure: "",
    membership: undefined,
    filterState: new Map(),
  };
}
