// SPDX-License-Identifier: Apache-2.0
// The Wasm HTTP filter: translates between the filter chain and the guest's callbacks, with Envoy's conversions.
import type { ByteBuffer } from "../http/byte-buffer.ts";
import type { HeaderMap } from "../http/header-map.ts";
import { streamProperty } from "../http/properties.ts";
import type { Stage } from "../http/pipeline.ts";
import {
  BufferType,
  DataStatus,
  HeadersStatus,
  MapType,
  Status,
  StreamType,
  TrailersStatus,
} from "../wasm/abi.ts";
import { GuestContext, type LocalReply } from "../wasm/guest-context.ts";
import type { WasmVm } from "../wasm/wasm-vm.ts";
import type { CallbackRecord, FilterStreamAccess } from "./filter.ts";

/** A body that is not there reads as an empty one. */
const NO_BODY = new Uint8Array(0);

/** One stream's context in one VM. */
export class WasmFilter extends GuestContext {
  readonly decode: Stage;
  readonly encode: Stage;
  private started = false;
  private logging = false;
  private cut = false;
  private requestHeaders: HeaderMap | undefined;
  private requestTrailers: HeaderMap | undefined;
  private requestBody: ByteBuffer | undefined;
  private bufferingRequest = false;
  private responseHeaders: HeaderMap | undefined;
  private responseTrailers: HeaderMap | undefined;
  private responseBody: ByteBuffer | undefined;
  private bufferingResponse = false;

  /**
   * @param allowHeaderStop PluginConfig.allow_on_headers_stop_iteration
   * @param trace where callbacks are recorded, if anywhere
   */
  constructor(
    vm: WasmVm,
    private readonly stream: FilterStreamAccess,
    private readonly allowHeaderStop: boolean,
    private readonly trace: CallbackRecord[] | undefined,
  ) {
    super(vm);
    this.decode = {
      headers: (headers, end) => this.decodeHeaders(headers, end),
      data: (data, end) => this.decodeData(data, end),
      trailers: (trailers) => this.decodeTrailers(trailers),
    };
    this.encode = {
      headers: (headers, end) => this.encodeHeaders(headers, end),
      data: (data, end) => this.encodeData(data, end),
      trailers: (trailers) => this.encodeTrailers(trailers),
    };
  }

  override get rootId(): number {
    return this.vm.root.id;
  }

  /** on_log with the maps of the whole stream. */
  log(): void {
    this.vm.create(this, this.rootId);
    this.logging = true;
    this.callGuest("proxy_on_log");
    this.logging = false;
  }

  /** on_done and on_delete; the context is gone afterwards. */
  destroy(): void {
    this.callGuest("proxy_on_done");
    this.callGuest("proxy_on_delete");
    this.vm.forget(this);
  }

  override readableMap(type: number): HeaderMap | undefined {
    if (this.logging && type === MapType.RequestHeaders) return this.stream.requestHeaders;
    if (this.logging && type === MapType.ResponseHeaders) return this.stream.responseHeaders;
    if (this.logging && type === MapType.ResponseTrailers) return this.stream.responseTrailers;
    return this.map(type);
  }

  override writableMap(type: number): HeaderMap | undefined {
    return this.logging ? undefined : this.map(type);
  }

  private map(type: number): HeaderMap | undefined {
    if (type === MapType.RequestHeaders) return this.requestHeaders;
    if (type === MapType.RequestTrailers) return this.requestTrailers;
    if (type === MapType.ResponseHeaders) return this.responseHeaders;
    if (type === MapType.ResponseTrailers) return this.responseTrailers;
    return undefined;
  }

  override headersChanged(type: number): void {
    if (type === MapType.RequestHeaders) this.stream.clearRouteCache();
  }

  override clearRouteCache(): void {
    this.stream.clearRouteCache();
  }

  override buffer(type: number): ByteBuffer | Uint8Array | undefined {
    if (type === BufferType.RequestBody) return this.requestBody ?? NO_BODY;
    if (type === BufferType.ResponseBody) return this.responseBody ?? NO_BODY;
    return undefined;
  }

  override property(path: string): Uint8Array | Status | undefined {
    const { stream } = this;
    const view = {
      info: stream.info,
      nowUs: stream.nowUs,
      requestHeaders: this.requestHeaders ?? (this.logging ? stream.requestHeaders : undefined),
      responseHeaders: this.responseHeaders ?? (this.logging ? stream.responseHeaders : undefined),
      finished: this.logging,
    };
    return streamProperty(view, path) ?? this.vm.pluginProperty(path);
  }

  override setProperty(path: string, value: Uint8Array): Status {
    this.stream.info.filterState.set(`wasm.${path}`, value);
    return Status.Ok;
  }

  override continueStream(type: number): Status {
    if (type > StreamType.Response) return Status.BadArgument;
    const pipeline = type === StreamType.Request ? this.stream.decoding : this.stream.encoding;
    const stage = type === StreamType.Request ? this.decode : this.encode;
    this.vm.defer(() => pipeline?.resume(stage));
    this.requestHeaders = undefined;
    this.requestBody = undefined;
    this.requestTrailers = undefined;
    return Status.Ok;
  }

  override closeStream(type: number): Status {
    if (type <= StreamType.Response) this.vm.defer(() => this.stream.reset("wasm_fail_stream"));
    return Status.Ok;
  }

  override sendLocalReply(reply: LocalReply): void {
    this.vm.defer(() => this.stream.sendLocalReply(reply));
  }

  /**
   * Calls the guest. In a VM that has trapped, now or earlier, the stream ends here whatever the failure policy:
   * with a 503 while that is possible, else cut.
   */
  private callGuest(name: string, ...args: number[]): number {
    const answer = this.vm.call(this, name, this.id, ...args) ?? 0;
    if (this.trace !== undefined && this.vm.exportsFunction(name)) {
      this.trace.push({ name, args, answer, failed: this.vm.failed });
    }
    if (this.vm.failed && !this.cut) {
      this.cut = true;
      this.stream.fail();
    }
    return answer;
  }

  private decodeHeaders(headers: HeaderMap, end: boolean): HeadersStatus {
    this.vm.create(this, this.rootId);
    this.started = true;
    this.requestHeaders = headers;
    const answer = this.callGuest("proxy_on_request_headers", headers.size, end ? 1 : 0);
    const status = this.headersStatus(answer);
    if (status === HeadersStatus.Continue) this.requestHeaders = undefined;
    return status;
  }

  private decodeData(data: ByteBuffer, end: boolean): DataStatus {
    if (!this.started) return DataStatus.Continue;
    if (this.bufferingRequest) {
      this.stream.decoding.addHeld(data);
      if (this.stream.ended) return DataStatus.StopIterationNoBuffer;
    }
    this.requestBody = this.bufferingRequest ? this.stream.decoding.heldBuffer() : data;
    const size = this.requestBody?.length ?? 0;
    const status = this.dataStatus(this.callGuest("proxy_on_request_body", size, end ? 1 : 0));
    this.bufferingRequest = status === DataStatus.StopIterationAndBuffer;
    if (status === DataStatus.Continue) this.requestBody = undefined;
    return status;
  }

  private decodeTrailers(trailers: HeaderMap): TrailersStatus {
    if (!this.started) return TrailersStatus.Continue;
    this.requestTrailers = trailers;
    const status = this.trailersStatus(this.callGuest("proxy_on_request_trailers", trailers.size));
    if (status === TrailersStatus.Continue) this.requestTrailers = undefined;
    return status;
  }

  private encodeHeaders(headers: HeaderMap, end: boolean): HeadersStatus {
    if (!this.started || this.cut) return HeadersStatus.Continue;
    this.responseHeaders = headers;
    const answer = this.callGuest("proxy_on_response_headers", headers.size, end ? 1 : 0);
    const status = this.headersStatus(answer);
    if (status === HeadersStatus.Continue) this.responseHeaders = undefined;
    return status;
  }

  private encodeData(data: ByteBuffer, end: boolean): DataStatus {
    if (!this.started || this.cut) return DataStatus.Continue;
    const { encoding } = this.stream;
    if (this.bufferingResponse) {
      encoding?.addHeld(data);
      if (this.stream.ended) return DataStatus.StopIterationNoBuffer;
    }
    this.responseBody = this.bufferingResponse ? encoding?.heldBuffer() : data;
    const size = this.responseBody?.length ?? 0;
    const status = this.dataStatus(this.callGuest("proxy_on_response_body", size, end ? 1 : 0));
    this.bufferingResponse = status === DataStatus.StopIterationAndBuffer;
    if (status === DataStatus.Continue) this.responseBody = undefined;
    return status;
  }

  private encodeTrailers(trailers: HeaderMap): TrailersStatus {
    if (!this.started || this.cut) return TrailersStatus.Continue;
    this.responseTrailers = trailers;
    const answer = this.callGuest("proxy_on_response_trailers", trailers.size);
    const status = this.trailersStatus(answer);
    if (status === TrailersStatus.Continue) this.responseTrailers = undefined;
    return status;
  }

  /** Without the flag StopIteration becomes a full stop: no body callback until continue_stream. */
  private headersStatus(answer: number): HeadersStatus {
    const fullStop = HeadersStatus.StopAllIterationAndWatermark;
    if (this.vm.failed || this.vm.lastCallReplied) return fullStop;
    if (answer === HeadersStatus.StopIteration && !this.allowHeaderStop) return fullStop;
    if (answer === 2) return HeadersStatus.Continue; // ContinueAndEndStream is not supported.
    return answer > fullStop ? fullStop : (answer as HeadersStatus);
  }

  private dataStatus(answer: number): DataStatus {
    const { StopIterationNoBuffer } = DataStatus;
    if (this.vm.failed || this.vm.lastCallReplied) return StopIterationNoBuffer;
    return answer > StopIterationNoBuffer ? StopIterationNoBuffer : (answer as DataStatus);
  }

  private trailersStatus(answer: number): TrailersStatus {
    const stop = this.vm.failed || this.vm.lastCallReplied || answer !== TrailersStatus.Continue;
    return stop ? TrailersStatus.StopIteration : TrailersStatus.Continue;
  }
}
