// SPDX-License-Identifier: Apache-2.0
// One HTTP exchange through the gateway, driven step by step from both sides: client and endpoint.
import type { Cluster } from "../cluster/cluster.ts";
import type { TimerHandle } from "../clock.ts";
import type { EventLoop } from "../event-loop.ts";
import { PASSING_STAGE, type CallbackRecord, type FilterStreamAccess } from "../filters/filter.ts";
import type { StreamFilter } from "../filters/filter.ts";
import type { WasmFilter } from "../filters/wasm-filter.ts";
import type { LocalReply } from "../wasm/guest-context.ts";
import { clientStage } from "./client-stage.ts";
import { Feed } from "./feed.ts";
import { HeaderMap, type HeaderInput } from "./header-map.ts";
import { IdleTimer } from "./idle-timer.ts";
import { DownstreamResponse, type Ending } from "./observation.ts";
import { Pipeline, type Stage } from "./pipeline.ts";
import { matchRoute, type Route } from "./route.ts";
import { Router, type RouterHost } from "./router.ts";
import { Flag, type StreamInfo } from "./stream-info.ts";
import type { UpstreamRequest } from "./upstream-request.ts";

/** Unread bytes that the kernel takes before the sender's window closes, roughly. */
const KERNEL_BUFFER_BYTES = 100 * 1024;

export interface StreamLimits {
  /** Listener.per_connection_buffer_limit_bytes: the limit of HTTP/1 streams and of responses. */
  connectionBytes: number;
  /** initial_stream_window_size: the limit of HTTP/2 streams. */
  http2WindowBytes: number;
  /** stream_idle_timeout; 0 = none. */
  streamIdleTimeoutMs: number;
}

/** What a stream needs from its Envoy. */
export interface StreamHost {
  readonly loop: EventLoop;
  readonly limits: StreamLimits;
  readonly routes: readonly Route[];
  readonly keepBodies: boolean;
  cluster(name: string): Cluster | undefined;
  upstreamStarted(stream: Stream): void;
  upstreamEnded(stream: Stream): void;
  upstreamCancelled(stream: Stream, upstream: UpstreamRequest): void;
  streamEnded(stream: Stream): void;
}

export interface ResponseInput {
  status?: number;
  headers?: HeaderInput;
  chunks?: (Uint8Array | string)[];
  trailers?: HeaderInput;
}

export class Stream implements FilterStreamAccess, RouterHost {
  readonly decoding: Pipeline;
  encoding: Pipeline | undefined;
  readonly response = new DownstreamResponse();
  readonly callbacks: CallbackRecord[] = [];
  pin: string | undefined;
  responseHeaders: HeaderMap | undefined;
  /** The attempt whose answer counts, also after the stream has ended. */
  served: UpstreamRequest | undefined;
  ending: Ending = "open";
  wasm: WasmFilter | undefined;
  private readonly router: Router;
  private readonly requestFeed: Feed;
  private responseFeed: Feed | undefined;
  private filters: StreamFilter[] = [];
  private routeCache: Route | undefined;
  private routeCached = false;
  /** The client has left and Envoy has not noticed. */
  private gone = false;
  private readonly idle: IdleTimer;

  /**
   * @param chain builds the filters once the stream exists, in decoding order
   */
  constructor(
    private readonly host: StreamHost,
    readonly info: StreamInfo,
    readonly requestHeaders: HeaderMap,
    chain: (stream: Stream) => StreamFilter[],
  ) {
    this.router = new Router(this);
    const stages = (): Stage[] => this.filters.map((filter) => filter.decode ?? PASSING_STAGE);
    const { limits } = host;
    const http1 = info.protocol === "http1";
    const limit = http1 ? limits.connectionBytes : limits.http2WindowBytes;
    info.membership = () => this.routedCluster()?.endpoints.length;
    this.filters = chain(this);
    this.decoding = new Pipeline([...stages(), this.router], this.requestHooks(), limit);
    this.requestFeed = new Feed(this.decoding, {
      protocol: info.protocol,
      readLimitBytes: limits.connectionBytes,
      headBytes: http1 ? requestHeaders.byteSize : 0,
    });
    this.idle = new IdleTimer(host.loop, limits.streamIdleTimeoutMs, () =>
      this.localReply(408, "stream_idle_timeout", Flag.StreamIdleTimeout),
    );
  }

  get responseTrailers(): HeaderMap | undefined {
    return this.response.trailers;
  }

  get nowUs(): number {
    return this.host.loop.clock.nowUs;
  }

  get ended(): boolean {
    return this.ending !== "open";
  }

  /** A filter keeps the request back. */
  get held(): boolean {
    return !this.ended && this.decoding.isHeld;
  }

  /** Bytes that the client has sent and Envoy does not read because of its limits. */
  get waitingBytes(): number {
    return this.requestFeed.waitingBytes;
  }

  /** What the current or last endpoint receives. */
  get upstream(): UpstreamRequest | undefined {
    return this.router.upstream ?? this.served;
  }

  get keepBodies(): boolean {
    return this.host.keepBodies;
  }

  get retryLimitBytes(): number {
    return this.decoding.limitBytes;
  }

  /** The head has arrived: the filter chain starts. Called once by Envoy. */
  begin(end: boolean): void {
    this.host.loop.run(() => {
      const route = this.currentRoute();
      if (route?.bodyLimitBytes !== undefined) this.decoding.limitBytes = route.bodyLimitBytes;
      this.decoding.receiveHeaders(this.requestHeaders, end);
    });
  }

  /** The client sends bytes; `end` closes the request with them. */
  sendChunk(bytes: Uint8Array | string, end = false, endApart = true): void {
    if (this.ended) return;
    const chunk = toBytes(bytes);
    this.idle.touch();
    this.info.requestBytes += chunk.length;
    this.host.loop.run(() => this.requestFeed.arrive(chunk, end, undefined, endApart));
  }

  /** The client ends the request, with trailers if given. */
  end(trailers?: HeaderInput): void {
    if (this.ended) return;
    const map = trailers === undefined ? undefined : HeaderMap.from(trailers);
    this.idle.touch();
    this.host.loop.run(() => this.requestFeed.arrive(toBytes(""), true, map));
  }

  /** The client goes away. */
  abort(): void {
    if (this.ended) return;
    // The end of an HTTP/1 connection queues behind what its receiver does not read.
    if (this.info.protocol === "http1" && this.waitingBytes > KERNEL_BUFFER_BYTES) {
      this.gone = true;
      return;
    }
    this.host.loop.run(() => {
      this.info.flags |= Flag.DownstreamConnectionTermination;
      this.info.details = "downstream_remote_disconnect";
      this.finish("aborted");
    });
  }

  /** The endpoint answers completely. False when there is nobody to answer (any more). */
  respond(input: ResponseInput = {}): boolean {
    const { status = 200, headers = {}, chunks = [], trailers } = input;
    const bare = chunks.length === 0 && trailers === undefined;
    if (!this.respondHeaders(status, headers, bare)) return false;
    chunks.forEach((chunk, index) =>
      this.respondChunk(chunk, index === chunks.length - 1 && trailers === undefined),
    );
    if (trailers !== undefined) this.respondEnd(trailers);
    return true;
  }

  /** The endpoint's response head. False when nobody waits for it. */
  respondHeaders(status: number, headers: HeaderInput = {}, end = false): boolean {
    const upstream = this.router.upstream;
    if (this.ended || upstream === undefined || this.encoding !== undefined) return false;
    this.idle.touch();
    this.host.loop.run(() => {
      if (this.router.retriesAnswer(status)) return;
      this.served = upstream;
      this.info.responseCode = status;
      this.info.details = "via_upstream";
      this.info.respondedUs = this.nowUs;
      const map = HeaderMap.from([[":status", String(status)]]);
      for (const [name, value] of HeaderMap.from(headers).entries()) map.add(name, value);
      const elapsedMs = Math.floor((this.nowUs - this.info.startUs) / 1000);
      map.set("x-envoy-upstream-service-time", String(elapsedMs));
      this.beginResponse(map, end);
    });
    return true;
  }

  respondChunk(bytes: Uint8Array | string, end = false): boolean {
    if (this.ended || this.responseFeed === undefined) return false;
    const chunk = toBytes(bytes);
    this.idle.touch();
    this.info.responseBytes += chunk.length;
    this.host.loop.run(() => this.responseFeed?.arrive(chunk, end, undefined, false));
    return true;
  }

  /** The endpoint ends its response, with trailers if given. */
  respondEnd(trailers?: HeaderInput): boolean {
    if (this.ended || this.responseFeed === undefined) return false;
    const map = trailers === undefined ? undefined : HeaderMap.from(trailers);
    this.host.loop.run(() => this.responseFeed?.arrive(toBytes(""), true, map, false));
    return true;
  }

  /** The endpoint resets the stream or closes its connection. */
  resetUpstream(): boolean {
    if (this.ended || this.router.upstream === undefined) return false;
    this.host.loop.run(() => {
      if (this.encoding === undefined) {
        this.router.resetBeforeResponse();
        return;
      }
      this.info.flags |= Flag.UpstreamRemoteReset;
      this.reset("upstream_reset_after_response_started{remote_reset}");
    });
    return true;
  }

  fail(): void {
    this.localReply(503, "wasm_fail_stream", 0);
  }

  currentRoute(): Route | undefined {
    if (!this.routeCached) {
      this.routeCached = true;
      this.routeCache = matchRoute(this.host.routes, this.requestHeaders);
    }
    this.info.route = this.routeCache;
    return this.routeCache;
  }

  clearRouteCache(): void {
    this.routeCached = false;
  }

  cluster(name: string): Cluster | undefined {
    return this.host.cluster(name);
  }

  localReply(status: number, details: string, flag: number): void {
    this.info.flags |= flag;
    this.sendLocalReply({ status, details, body: toBytes(""), headers: [] });
  }

  sendLocalReply(reply: LocalReply): void {
    if (this.ended) return;
    if (this.response.headers !== undefined) {
      this.reset(reply.details); // Too late for another status.
      return;
    }
    const direct = this.encoding !== undefined;
    this.router.finish(true);
    this.decoding.stop();
    this.encoding?.stop();
    this.requestFeed.close();
    this.response.local = true;
    this.info.responseCode = reply.status;
    this.info.details = reply.details;
    const map = HeaderMap.from([[":status", String(reply.status)], ...reply.headers]);
    if (reply.body.length > 0) {
      if (!map.has("content-type")) map.set("content-type", "text/plain");
      map.set("content-length", String(reply.body.length));
    }
    this.info.responseBytes += reply.body.length;
    if (direct) {
      // An answer is already on its way through the filters: they do not see a second one.
      this.response.begin(map);
      this.response.receive([reply.body], this.host.keepBodies);
      this.finish("local_reply");
      return;
    }
    this.beginResponse(map, reply.body.length === 0);
    if (reply.body.length > 0) this.responseFeed?.arrive(reply.body, true, undefined, false);
  }

  reset(details: string): void {
    if (this.ended) return;
    this.info.details = details;
    this.finish("reset");
  }

  post(task: () => void): void {
    this.host.loop.post(task);
  }

  after(delayUs: number, task: () => void): TimerHandle {
    return this.host.loop.after(delayUs, task);
  }

  upstreamStarted(): void {
    this.post(() => !this.ended && this.host.upstreamStarted(this));
  }

  upstreamEnded(): void {
    this.post(() => !this.ended && this.host.upstreamEnded(this));
  }

  upstreamCancelled(upstream: UpstreamRequest): void {
    this.post(() => this.host.upstreamCancelled(this, upstream));
  }

  private beginResponse(headers: HeaderMap, end: boolean): void {
    const { limits } = this.host;
    const stages = this.filters.map((filter) => filter.encode ?? PASSING_STAGE).reverse();
    const feed = (): Feed | undefined => this.responseFeed;
    const hooks = {
      aboveLimit: () => feed()?.disableReading(),
      belowLimit: () => feed()?.enableReading(),
      tooLarge: () => this.reset("response_payload_too_large"),
    };
    this.responseHeaders = headers;
    const client = clientStage(this.response, this.host.keepBodies, () =>
      this.finish(this.response.local ? "local_reply" : "completed"),
    );
    this.encoding = new Pipeline([...stages, client], hooks, limits.connectionBytes);
    this.responseFeed = new Feed(this.encoding, {
      protocol: "http1",
      readLimitBytes: limits.connectionBytes,
      headBytes: 0,
    });
    this.encoding.receiveHeaders(headers, end);
  }

  private requestHooks() {
    return {
      aboveLimit: () => this.requestFeed.disableReading(),
      belowLimit: () => {
        this.requestFeed.enableReading();
        if (this.gone) this.post(() => this.abort());
      },
      tooLarge: () => this.localReply(413, "request_payload_too_large", 0),
    };
  }

  /** End of the stream, once: endpoint released, then on_log, on_done, on_delete. */
  private finish(ending: Ending): void {
    if (this.ended) return;
    this.ending = ending;
    this.info.endUs = this.nowUs;
    this.served ??= this.router.upstream;
    this.decoding.stop();
    this.encoding?.stop();
    this.requestFeed.close();
    this.responseFeed?.close();
    this.idle.cancel();
    this.router.finish(ending !== "completed");
    this.wasm?.log();
    this.wasm?.destroy();
    this.host.streamEnded(this);
  }

  private routedCluster(): Cluster | undefined {
    const routed = this.info.route ?? this.currentRoute();
    return routed === undefined ? undefined : this.host.cluster(routed.cluster);
  }
}

function toBytes(input: Uint8Array | string): Uint8Array {
  return typeof input === "string" ? Buffer.from(input, "utf8") : input;
}
