// SPDX-License-Identifier: Apache-2.0
// The virtual Envoy as a world for contract situations.
import { createHash } from "node:crypto";
import {
  VirtualEnvoy,
  type ChainFilter,
  type SideCall,
  type SideCallAnswer,
  type Stream,
  type VirtualEnvoyOptions,
} from "../../../lab/virtual-envoy/index.ts";
import { DEFAULT_RETRY } from "../../../lab/virtual-envoy/http/route.ts";
import {
  ENDPOINTS,
  normalise,
  PATIENCE_MS,
  type Answer,
  type Ask,
  type Running,
  type Seen,
  type Setup,
  type World,
} from "./world.ts";

const ADDRESSES = Array.from({ length: ENDPOINTS }, (_, index) => `127.0.0.1:${21101 + index}`);
const PIN_HEADER = "x-smetric-endpoint";
const BUFFER_BYTES = 16 * 1024 * 1024;
const MUTATIONS = [{ header: PIN_HEADER, filterStateKey: "wasm.smetric_endpoint" }];

const CHAINS: Record<NonNullable<Setup["chain"]>, ChainFilter[]> = {
  pin: [{ name: "wasm" }, { name: "stateful_session", header: PIN_HEADER }],
  pin_buffered: [
    { name: "buffer", maxRequestBytes: BUFFER_BYTES },
    { name: "wasm" },
    { name: "stateful_session", header: PIN_HEADER },
  ],
  filter_state: [
    { name: "wasm" },
    { name: "buffer", maxRequestBytes: BUFFER_BYTES },
    { name: "header_mutation", mutations: MUTATIONS },
    { name: "stateful_session", header: PIN_HEADER },
  ],
  no_buffer: [
    { name: "wasm" },
    { name: "header_mutation", mutations: MUTATIONS },
    { name: "stateful_session", header: PIN_HEADER },
  ],
  override_host: [{ name: "wasm" }],
};

function optionsOf(setup: Setup, wasm: string): VirtualEnvoyOptions {
  const chain = setup.chain ?? "pin";
  const dead = new Set(setup.dead ?? []);
  const endpoints = ADDRESSES.map((address, index) => ({ address, reachable: !dead.has(index) }));
  const override = chain === "override_host" ? { overrideHostHeader: PIN_HEADER } : {};
  const common = {
    bodyLimitBytes: setup.routeBodyBytes,
    timeoutMs: setup.routeTimeoutMs ?? 0,
    retry: { ...DEFAULT_RETRY, on: setup.retries === false ? [] : DEFAULT_RETRY.on },
  };
  return {
    wasm,
    configuration: setup.probe,
    flag: setup.flag ?? true,
    failurePolicy: setup.failurePolicy ?? "fail_reload",
    workers: setup.workers ?? 1,
    chain: CHAINS[chain],
    clusters: setup.splitByTurn
      ? [
          { name: "llm", endpoints: endpoints.slice(0, 2) },
          { name: "other", endpoints: endpoints.slice(2) },
        ]
      : [{ name: "llm", endpoints, ...override }],
    routes: setup.splitByTurn
      ? [
          { ...common, cluster: "llm", headers: { "x-smetric-turn": "1" } },
          { ...common, cluster: "other" },
        ]
      : [{ ...common, cluster: "llm" }],
    limits: {
      connectionBytes: setup.connectionBytes ?? 1024 * 1024,
      http2WindowBytes: setup.http2WindowBytes ?? 16 * 1024 * 1024,
      streamIdleTimeoutMs: setup.idleTimeoutMs ?? 300_000,
    },
  };
}

/** @throws LoadFailure when Envoy would not start */
export async function startVirtualWorld(setup: Setup, wasm: string): Promise<World> {
  return new VirtualWorld(setup, wasm);
}

class VirtualWorld implements World {
  private readonly envoy: VirtualEnvoy;
  private readonly answers = new Map<string, Answer>();
  private readonly sent = new Map<string, string[]>();
  private count = 0;

  constructor(setup: Setup, wasm: string) {
    const upstream = { ended: (stream: Stream) => this.answer(stream) };
    const sideCall = ({ cluster }: SideCall): SideCallAnswer | undefined =>
      cluster === "llm" ? { headers: [[":status", "200"]], delayMs: 1 } : undefined;
    this.envoy = new VirtualEnvoy({ ...optionsOf(setup, wasm), upstream, sideCall });
  }

  async ask(ask: Ask): Promise<Seen> {
    const stream = this.begin(ask);
    if (!stream.ended) this.envoy.tick(PATIENCE_MS);
    const hangs = !stream.ended && stream.response.status === undefined;
    if (!stream.ended) stream.abort();
    return { ...this.seen(stream), ...(hangs ? { status: "hangs" as const } : {}) };
  }

  async start(ask: Ask): Promise<Running> {
    const stream = this.begin(ask);
    const path = stream.requestHeaders.get(":path")!;
    const over = async (): Promise<Seen> => {
      if (!stream.ended) this.envoy.tick(PATIENCE_MS);
      return this.seen(stream);
    };
    return {
      endpoint: this.endpointOf(stream),
      over: () => stream.ended,
      finish: async () => {
        stream.respondEnd();
        return over();
      },
      leave: async () => {
        stream.abort();
        return { ...this.seen(stream), status: "left" };
      },
      end: over,
      send: async (chunk, last) => {
        this.sent.get(path)!.push(chunk);
        stream.sendChunk(chunk, last);
      },
    };
  }

  async wait(ms: number): Promise<void> {
    this.envoy.tick(ms);
  }

  address(index: number): string {
    return ADDRESSES[index]!;
  }

  async fail(index: number): Promise<void> {
    this.envoy.endpoint(ADDRESSES[index]!).health = "unhealthy";
  }

  async gauge(name: string): Promise<number> {
    return this.envoy.metrics.read(name);
  }

  async configured(): Promise<number> {
    return this.envoy.logs.filter((line) => line.message === "configured").length;
  }

  async close(): Promise<void> {
    this.envoy.close();
  }

  private begin(ask: Ask): Stream {
    this.count += 1;
    const path = `/situation/${this.count}`;
    this.answers.set(path, ask.answer ?? {});
    const want = ask.want === undefined ? ask.wantText : pinText(ADDRESSES[ask.want]!);
    const headers = { ...ask.headers, ...(want === undefined ? {} : { "x-want": want }) };
    const parts = ask.chunks ?? (ask.body === undefined ? [] : [ask.body]);
    this.sent.set(path, [...parts]);
    const common = { path, headers, protocol: ask.protocol ?? ("http1" as const) };
    const method = ask.method ?? (parts.length > 0 || ask.unfinished ? "POST" : "GET");
    if (ask.chunks === undefined && !ask.unfinished) {
      return this.envoy.send({ ...common, body: ask.body, method });
    }
    const stream = this.envoy.openStream({ ...common, method });
    for (const part of parts) if (part !== "") stream.sendChunk(part);
    if (!ask.unfinished) stream.end(ask.trailers);
    return stream;
  }

  private answer(stream: Stream): void {
    const path = stream.requestHeaders.get(":path")!;
    const { status = 200, headers = {}, chunks = ["ok"], ...rest } = this.answers.get(path)!;
    if (rest.instead === "silence") return;
    if (rest.instead === "break") {
      stream.resetUpstream();
      return;
    }
    stream.respondHeaders(status, headers);
    for (const chunk of chunks) stream.respondChunk(chunk);
    if (rest.then === "hold") return;
    if (rest.then === "break") stream.resetUpstream();
    else stream.respondEnd(rest.trailers);
  }

  private endpointOf(stream: Stream): number {
    const { upstream } = stream;
    if (upstream === undefined || !upstream.endpoint.reachable) return -1;
    return ADDRESSES.indexOf(upstream.endpoint.address);
  }

  private seen(stream: Stream): Seen {
    const observed = this.envoy.observe(stream);
    const path = stream.requestHeaders.get(":path")!;
    const sent = (this.sent.get(path) ?? []).join("");
    const report = this.envoy.logs.find((line) => line.message.startsWith(`probe|${path}|`));
    return {
      status: observed.status ?? "hangs",
      cut: observed.ending === "reset",
      headers: observed.responseHeaders,
      body: observed.responseBody,
      endpoint: this.endpointOf(stream),
      upstreamHeaders: observed.upstreamHeaders ?? {},
      upstreamTrailers: observed.upstreamTrailers ?? {},
      intact: observed.bodySha === createHash("sha256").update(sent).digest("hex"),
      events: normalise(report?.message.split("|")[2] ?? "", ADDRESSES),
    };
  }
}

function pinText(address: string): string {
  return Buffer.from(address).toString("base64");
}
