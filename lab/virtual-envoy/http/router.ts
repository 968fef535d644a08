// SPDX-License-Identifier: Apache-2.0
// The router: the last stage of the request direction. Picks endpoints, sends, retries, times out.
import type { Cluster } from "../cluster/cluster.ts";
import type { Endpoint } from "../cluster/endpoint.ts";
import type { TimerHandle } from "../clock.ts";
import { DataStatus, HeadersStatus, TrailersStatus } from "../wasm/abi.ts";
import type { ByteBuffer } from "./byte-buffer.ts";
import type { HeaderMap } from "./header-map.ts";
import type { Stage } from "./pipeline.ts";
import type { RetryCondition, Route } from "./route.ts";
import { Flag, type StreamInfo } from "./stream-info.ts";
import { UpstreamRequest } from "./upstream-request.ts";

/** What the router needs from its stream and Envoy. */
export interface RouterHost {
  readonly info: StreamInfo;
  readonly pin: string | undefined;
  readonly keepBodies: boolean;
  /** Request bytes that may be kept for a retry. */
  readonly retryLimitBytes: number;
  currentRoute(): Route | undefined;
  cluster(name: string): Cluster | undefined;
  localReply(status: number, details: string, flag: number): void;
  post(task: () => void): void;
  after(delayUs: number, task: () => void): TimerHandle;
  upstreamStarted(upstream: UpstreamRequest): void;
  upstreamEnded(upstream: UpstreamRequest): void;
  upstreamCancelled(upstream: UpstreamRequest): void;
}

const CONNECT_FAILURE = "upstream_reset_before_response_started{remote_connection_failure}";
const REMOTE_RESET = "upstream_reset_before_response_started{remote_reset}";

export class Router implements Stage {
  upstream: UpstreamRequest | undefined;
  private route: Route | undefined;
  private cluster: Cluster | undefined;
  private headerMap: HeaderMap | undefined;
  private trailerMap: HeaderMap | undefined;
  private kept: Uint8Array[] = [];
  private keptBytes = 0;
  private retryAbandoned = false;
  private requestEnded = false;
  private finished = false;
  private readonly tried = new Set<Endpoint>();
  private overrides: string[] = [];
  private timeout: TimerHandle | undefined;

  constructor(private readonly host: RouterHost) {}

  headers(headers: HeaderMap, end: boolean): HeadersStatus {
    const { host } = this;
    const route = host.currentRoute();
    this.route = route;
    if (route === undefined) {
      this.fail(404, "route_not_found", Flag.NoRouteFound);
      return HeadersStatus.StopIteration;
    }
    if (route.directResponse !== undefined) {
      this.fail(route.directResponse, "direct_response", 0);
      return HeadersStatus.StopIteration;
    }
    this.cluster = host.cluster(route.cluster);
    if (this.cluster === undefined) {
      this.fail(503, "cluster_not_found", 0);
      return HeadersStatus.StopIteration;
    }
    this.headerMap = headers.clone();
    this.overrides = overrideList(headers, this.cluster.overrideHostHeader);
    this.requestEnded = end;
    this.attempt();
    if (end) this.endRequest();
    return HeadersStatus.Continue;
  }

  data(data: ByteBuffer, end: boolean): DataStatus {
    for (const bytes of data.take()) {
      this.keepForRetry(bytes);
      this.upstream?.receive(bytes);
    }
    if (end) this.endRequest();
    return DataStatus.Continue;
  }

  trailers(trailers: HeaderMap): TrailersStatus {
    this.trailerMap = trailers.clone();
    this.endRequest();
    return TrailersStatus.Continue;
  }

  /** Response headers arrived. True when the answer is retried elsewhere instead of being passed on. */
  retriesAnswer(status: number): boolean {
    const retried = status >= 500 && this.retry("5xx");
    if (!retried) {
      this.kept = [];
      this.retryAbandoned = true;
      this.timeout?.cancel();
    }
    return retried;
  }

  /** The endpoint reset the stream or closed the connection before any answer. */
  resetBeforeResponse(): void {
    if (this.retry("reset")) return;
    this.fail(503, REMOTE_RESET, Flag.UpstreamRemoteReset);
  }

  /** The stream is over, however it ended: the endpoint is released exactly once. */
  finish(cancelled: boolean): void {
    if (this.finished) return;
    this.finished = true;
    this.timeout?.cancel();
    this.kept = [];
    this.release(cancelled);
  }

  private attempt(): void {
    const { host, cluster } = this;
    const endpoint = this.pickEndpoint(cluster!);
    if (endpoint === undefined) {
      this.fail(503, "no_healthy_upstream", Flag.NoHealthyUpstream);
      return;
    }
    host.info.attempts += 1;
    host.info.endpoint = endpoint;
    host.info.transportFailure = "";
    this.tried.add(endpoint);
    endpoint.active += 1;
    endpoint.total += 1;
    const upstream = new UpstreamRequest(endpoint, this.headerMap!.clone(), host.keepBodies);
    this.upstream = upstream;
    for (const bytes of this.kept) upstream.receive(bytes);
    if (!endpoint.reachable) {
      host.post(() => this.connectFailed(upstream));
      return;
    }
    host.upstreamStarted(upstream);
    if (this.requestEnded) this.completeUpstream();
  }

  /** A connection error shows only after the current turn: a large body may have passed by then. */
  private connectFailed(upstream: UpstreamRequest): void {
    if (this.finished || this.upstream !== upstream) return;
    this.host.info.transportFailure = "delayed connect error: 111";
    if (this.retry("connect-failure")) return;
    this.fail(503, CONNECT_FAILURE, Flag.UpstreamConnectionFailure);
  }

  private pickEndpoint(cluster: Cluster): Endpoint | undefined {
    const { host, route } = this;
    const first = host.info.attempts === 0;
    const hashKey = route!.hashHeader ? this.headerMap!.get(route!.hashHeader) : undefined;
    const override = this.nextOverride(cluster);
    const pin = first ? host.pin : undefined;
    const again = first || !route!.retry.previousHosts ? 0 : route!.retry.hostSelectionAttempts;
    let endpoint = cluster.choose({ pin, override, hashKey });
    for (let round = 0; round < again; round++) {
      if (endpoint === undefined || endpoint.address === override) break;
      if (!this.tried.has(endpoint)) break;
      endpoint = cluster.choose({ pin: undefined, override: undefined, hashKey });
    }
    return endpoint;
  }

  /** Each attempt takes the next candidate of the list that exists. */
  private nextOverride(cluster: Cluster): string | undefined {
    while (this.overrides.length > 0) {
      const candidate = this.overrides.shift()!;
      if (cluster.has(candidate)) return candidate;
    }
    return undefined;
  }

  private retry(condition: RetryCondition): boolean {
    const policy = this.route!.retry;
    if (this.finished || this.retryAbandoned || !policy.on.includes(condition)) return false;
    if (this.host.info.attempts > policy.attempts) {
      this.host.info.flags |= Flag.UpstreamRetryLimitExceeded;
      return false;
    }
    this.release(true);
    this.attempt();
    return true;
  }

  private keepForRetry(bytes: Uint8Array): void {
    if (this.retryAbandoned || this.route!.retry.on.length === 0) return;
    this.keptBytes += bytes.length;
    if (this.keptBytes > this.host.retryLimitBytes) {
      this.retryAbandoned = true; // Envoy counts it as retry_or_shadow_abandoned.
      this.kept = [];
      return;
    }
    this.kept.push(bytes);
  }

  private endRequest(): void {
    this.requestEnded = true;
    const { timeoutMs } = this.route!;
    if (timeoutMs > 0 && !this.finished) {
      this.timeout = this.host.after(timeoutMs * 1000, () =>
        this.fail(504, "response_timeout", Flag.UpstreamRequestTimeout),
      );
    }
    if (this.upstream?.endpoint.reachable) this.completeUpstream();
  }

  private completeUpstream(): void {
    const upstream = this.upstream!;
    if (upstream.ended || upstream.cancelled) return;
    upstream.ended = true;
    upstream.trailers = this.trailerMap;
    this.host.upstreamEnded(upstream);
  }

  private release(cancelled: boolean): void {
    const { upstream } = this;
    if (upstream === undefined) return;
    this.upstream = undefined;
    upstream.endpoint.active -= 1;
    if (!cancelled) return;
    upstream.cancelled = true;
    if (upstream.endpoint.reachable) this.host.upstreamCancelled(upstream);
  }

  private fail(status: number, details: string, flag: number): void {
    this.finish(true);
    this.host.localReply(status, details, flag);
  }
}

function overrideList(headers: HeaderMap, header: string | undefined): string[] {
  const value = header === undefined ? undefined : headers.get(header);
  if (value === undefined) return [];
  return value
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
