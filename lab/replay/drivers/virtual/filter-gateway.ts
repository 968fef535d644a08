// SPDX-License-Identifier: Apache-2.0
// The shipped filter as a gateway in virtual time: its module runs in a virtual Envoy over synthesised bodies.
import {
  type BalancingPolicy,
  type Stream,
  type UpstreamRequest,
  VirtualEnvoy,
} from "../../../virtual-envoy/index.ts";
import { addressOf } from "../../baselines/stock.ts";
import { ChatBodies } from "../../bodies/chat-body.ts";
import { append, type Call } from "../../workloads/session.ts";
import { type Gateway, type Passage, type ReportedUsage, UNTOLD } from "./gateway.ts";

export interface FilterGatewayOptions {
  /** Path of the compiled filter. */
  wasm: string;
  /** The filter's configuration. */
  configuration: object;
  endpoints: number;
  /** Engines that decode what the endpoints have prefilled: Envoy places among them; 0 = endpoints do both. */
  decodeEndpoints: number;
  workers: number;
  seed: number;
  bytesPerToken: number;
  /** One answer before time 0 tells the filter how many bytes a token has here, as yesterday's would have. */
  knowsText?: boolean;
  /** Sessions differ in it by up to this share. */
  estimateError: number;
  /** Name of the model in the bodies. */
  model: string;
  /** How Envoy places what the filter leaves to it; default: as least request. */
  balancing?: BalancingPolicy;
  /** Gets the record of each request, where the configuration says `record`. */
  recorded?: (record: string) => void;
}

interface Open {
  passage: Passage;
  placed: () => void;
}

const LIMITS = {
  connectionBytes: 64 * 1024 * 1024,
  http2WindowBytes: 64 * 1024 * 1024,
  streamIdleTimeoutMs: 0,
};
/** What llm-d's sidecar beside a decode engine reads. */
const PREFILL_HEADER = "x-prefiller-host-port";
const RECORD_KEY = "wasm.smetric_record";
const TEXT_TOKENS = 20_000;
/** Lessons reach the other workers with a tick. */
const TEACHING_US = 1_000_000;
const EVENT_STREAM = { "content-type": "text/event-stream" };
const FIRST_CHUNK = `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}\n\n`;

function lastChunks(callsTool: boolean, reported: ReportedUsage | typeof UNTOLD): string {
  const reason = callsTool ? "tool_calls" : "stop";
  const finish = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"${reason}"}]}\n\n`;
  if (reported === UNTOLD) return `${finish}data: [DONE]\n\n`;
  const { promptTokens, cachedTokens, outputTokens } = reported;
  const usage = {
    prompt_tokens: promptTokens,
    completion_tokens: outputTokens,
    total_tokens: promptTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
  return `${finish}data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`;
}

function numberOf(value: string | undefined): number | null {
  return value === undefined ? null : Number(value);
}

export class FilterGateway implements Gateway {
  private readonly envoy: VirtualEnvoy;
  private readonly bodies: ChatBodies;
  private readonly indexes = new Map<string, number>();
  private readonly open = new Map<Stream, Open>();
  private readonly streams = new Map<number, Stream>();
  private readonly startUs: number;
  private readonly recorded: ((record: string) => void) | undefined;

  /** @throws LoadFailure when the filter refuses its configuration */
  constructor(options: FilterGatewayOptions) {
    const { wasm, workers, seed, endpoints, decodeEndpoints } = options;
    const all = Array.from({ length: endpoints + decodeEndpoints }, (_, index) => addressOf(index));
    const chosen = all.slice(0, endpoints);
    chosen.forEach((address, index) => this.indexes.set(address, index));
    const { model, bytesPerToken, estimateError } = options;
    this.bodies = new ChatBodies({ model, bytesPerToken, synthetic: true, estimateError });
    const pool = { prefill_header: PREFILL_HEADER, prefill_endpoints: chosen };
    this.envoy = new VirtualEnvoy({
      ...{ wasm, workers, seed },
      configuration: { ...(decodeEndpoints > 0 ? pool : {}), ...options.configuration },
      clusters: [
        {
          name: "llm",
          endpoints: decodeEndpoints > 0 ? all.slice(endpoints) : chosen,
          policy: options.balancing,
        },
      ],
      limits: LIMITS,
      trace: false,
      keepBodies: false,
      upstream: { ended: (stream) => this.arrived(stream) },
    });
    if (options.knowsText === true) this.teachText();
    this.startUs = this.envoy.clock.nowUs;
    this.recorded = options.recorded;
  }

  place(passage: Passage, nowMs: number, placed: () => void): void {
    this.advance(nowMs);
    const body = this.bodies.bytes(passage.session, passage.call);
    const stream = this.openStream(body);
    this.open.set(stream, { passage, placed });
    this.streams.set(passage.id, stream);
    stream.sendChunk(body, true);
  }

  firstToken(passage: Passage, nowMs: number): void {
    this.advance(nowMs);
    this.streams.get(passage.id)?.respondChunk(FIRST_CHUNK);
  }

  ended(passage: Passage, usage: ReportedUsage | typeof UNTOLD | null, nowMs: number): void {
    this.advance(nowMs);
    const stream = this.streams.get(passage.id);
    this.streams.delete(passage.id);
    if (stream === undefined) return;
    if (usage === null) stream.resetUpstream();
    else stream.respondChunk(lastChunks(passage.call.answer.callsTool, usage), true);
    const record = stream.info.filterState.get(RECORD_KEY);
    if (record !== undefined) this.recorded?.(Buffer.from(record).toString("utf8"));
  }

  setAlive(endpoint: number, alive: boolean): void {
    this.envoy.endpoint(addressOf(endpoint)).health = alive ? "healthy" : "unhealthy";
  }

  nextMs(): number {
    if (this.open.size === 0) return Infinity; // Ticks matter to held requests only.
    return ((this.envoy.clock.nextTimerUs ?? Infinity) - this.startUs) / 1000;
  }

  advance(nowMs: number): void {
    this.envoy.advanceTo(this.startUs + Math.round(nowMs * 1000));
  }

  close(): void {
    this.envoy.close();
  }

  /** Shortened bodies have another ratio than the filter starts from: without this all would arrive mistaken at once. */
  private teachText(): void {
    const app = { name: "text", system: "", tools: [], headTokens: 0 };
    const tip = append(null, { role: "user", key: 0, tokens: TEXT_TOKENS });
    const answer = append(tip, { role: "assistant", key: 1, tokens: 1 });
    const call: Call = { tip, turn: 1, answer, gap: "start", gapMs: 0, after: [] };
    const body = this.bodies.bytes({ id: "text", app, calls: [call] }, call);
    const stream = this.openStream(body);
    stream.sendChunk(body, true);
    stream.respondHeaders(200, EVENT_STREAM);
    const usage = { promptTokens: TEXT_TOKENS, cachedTokens: 0, outputTokens: 1 };
    stream.respondChunk(lastChunks(false, usage), true);
    this.envoy.advanceTo(this.envoy.clock.nowUs + TEACHING_US);
  }

  private openStream(body: Buffer): Stream {
    return this.envoy.openStream({
      method: "POST",
      path: "/v1/chat/completions",
      headers: { "content-type": "application/json", "content-length": String(body.length) },
    });
  }

  /** The whole request has reached an endpoint. */
  private arrived(stream: Stream): void {
    const entry = this.open.get(stream);
    const upstream = stream.upstream;
    if (entry === undefined || upstream === undefined) return;
    this.open.delete(stream);
    const { passage, placed } = entry;
    passage.endpoint = this.endpointOf(upstream);
    passage.seenTurn = numberOf(upstream.headers.get("x-smetric-turn"));
    passage.verifiedTurn = numberOf(upstream.headers.get("x-smetric-verified-turn"));
    passage.decision = upstream.headers.get("x-smetric-decision") ?? null;
    stream.respondHeaders(200, EVENT_STREAM);
    placed();
  }

  /** The one that Envoy chose, or the prefill endpoint that the filter named to it. */
  private endpointOf({ endpoint, headers }: UpstreamRequest): number {
    const named = headers.get(PREFILL_HEADER);
    const index = this.indexes.get(named ?? endpoint.address);
    if (index === undefined) throw new Error(`${endpoint.address}: no prefill endpoint was named`);
    return index;
  }
}
