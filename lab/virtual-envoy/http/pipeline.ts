// SPDX-License-Identifier: Apache-2.0
// Envoy's filter iteration for one direction of one stream: who sees what when, who holds what, and where limits bite.
import { DataStatus, HeadersStatus, TrailersStatus } from "../wasm/abi.ts";
import { ByteBuffer } from "./byte-buffer.ts";
import type { HeaderMap } from "./header-map.ts";

/** One filter's part in a direction. The last stage of a pipeline never stops it. */
export interface Stage {
  headers(headers: HeaderMap, end: boolean): HeadersStatus;
  data(data: ByteBuffer, end: boolean): DataStatus;
  trailers(trailers: HeaderMap): TrailersStatus;
}

export interface PipelineHooks {
  /** More is held than the limit allows, in streaming mode: the peer is no longer read. */
  aboveLimit(): void;
  /** What was held has gone on. */
  belowLimit(): void;
  /** More is held than the limit allows, by a filter that asked for the whole body. */
  tooLarge(): void;
}

type Hold = "none" | "single" | "all_buffer" | "all_watermark";

interface Position {
  readonly stage: Stage;
  hold: Hold;
  headersPassed: boolean;
  endSeen: boolean;
  /** After a full stop the held body is shown to the holding filter itself first. */
  fromSelf: boolean;
}

/** Port of Envoy's FilterManager iteration; names follow design words, rules follow the original. */
export class Pipeline {
  private readonly positions: Position[];
  private held: ByteBuffer | undefined;
  /** The filter that holds said "watermark": back-pressure instead of an error past the limit. */
  private streaming = false;
  private aboveLimit = false;
  private headerMap: HeaderMap | undefined;
  private trailerMap: HeaderMap | undefined;
  private complete = false;
  private stopped = false;

  constructor(
    stages: readonly Stage[],
    private readonly hooks: PipelineHooks,
    public limitBytes: number,
  ) {
    this.positions = stages.map((stage) => ({
      stage,
      hold: "none",
      headersPassed: false,
      endSeen: false,
      fromSelf: false,
    }));
  }

  get heldBytes(): number {
    return this.held?.length ?? 0;
  }

  /** Some filter keeps the stream from going on. */
  get isHeld(): boolean {
    return this.positions.some((position) => position.hold !== "none");
  }

  /** No callback of any stage runs after this. */
  stop(): void {
    this.stopped = true;
  }

  receiveHeaders(headers: HeaderMap, end: boolean): void {
    this.headerMap = headers;
    this.complete = end;
    this.runHeaders(0, end);
  }

  receiveData(data: ByteBuffer, end: boolean): void {
    if (end) this.complete = true;
    this.runData(0, data, end);
  }

  receiveTrailers(trailers: HeaderMap): void {
    this.trailerMap = trailers;
    this.complete = true;
    this.runTrailers(0);
  }

  /** What is held for `stage`, for a filter that buffers the whole body. */
  heldBuffer(): ByteBuffer | undefined {
    return this.held;
  }

  /** Adds to what is held before the filter is called again, as buffering filters do. */
  addHeld(data: ByteBuffer): void {
    this.streaming = false;
    this.hold(data);
  }

  /** The filter at `stage` lets go from outside a callback. */
  resume(stage: Stage): void {
    const index = this.positions.findIndex((position) => position.stage === stage);
    const position = this.positions[index];
    if (position === undefined || position.hold === "none") return;
    this.continueFrom(index);
  }

  private runHeaders(first: number, end: boolean): void {
    for (let index = first; index < this.positions.length; index++) {
      if (this.stopped) return;
      const position = this.positions[index]!;
      position.endSeen = end;
      const status = position.stage.headers(this.headerMap!, end);
      if (status === HeadersStatus.Continue) {
        position.headersPassed = true;
        continue;
      }
      if (status === HeadersStatus.StopIteration) position.hold = "single";
      else if (status === HeadersStatus.StopAllIterationAndBuffer) position.hold = "all_buffer";
      else position.hold = "all_watermark";
      return;
    }
  }

  private runData(first: number, data: ByteBuffer, end: boolean): void {
    for (let index = first; index < this.positions.length; index++) {
      if (this.stopped) return;
      const position = this.positions[index]!;
      if (position.hold === "all_buffer" || position.hold === "all_watermark") {
        this.streaming = position.hold === "all_watermark";
        this.hold(data);
        return;
      }
      if (position.endSeen) return;
      position.endSeen = end;
      const status = position.stage.data(data, end);
      if (this.stopped) return;
      if (status === DataStatus.Continue) {
        if (position.hold !== "single") continue;
        this.hold(data);
        this.continueFrom(index);
        return;
      }
      position.hold = "single";
      if (status !== DataStatus.StopIterationNoBuffer) {
        this.streaming = status === DataStatus.StopIterationAndWatermark;
        this.hold(data);
      } else if (this.complete && this.trailerMap === undefined) {
        this.held ??= new ByteBuffer(); // So that a later release still carries the end.
      }
      return;
    }
  }

  private runTrailers(first: number): void {
    for (let index = first; index < this.positions.length; index++) {
      if (this.stopped) return;
      const position = this.positions[index]!;
      if (position.hold === "all_buffer" || position.hold === "all_watermark") return;
      const status = position.stage.trailers(this.trailerMap!);
      if (this.stopped) return;
      if (status === TrailersStatus.StopIteration) {
        if (position.hold === "none") position.hold = "single";
        return;
      }
      if (position.hold !== "single") continue;
      this.continueFrom(index);
      return;
    }
  }

  private continueFrom(index: number): void {
    const position = this.positions[index]!;
    position.fromSelf = position.hold !== "single";
    position.hold = "none";
    const hasTrailers = this.trailerMap !== undefined;
    if (!position.headersPassed) {
      position.headersPassed = true;
      this.runHeaders(index + 1, this.complete && this.held === undefined && !hasTrailers);
    }
    const next = position.fromSelf ? index : index + 1;
    const data = this.held;
    if (data !== undefined) {
      this.runData(next, data, this.complete && !hasTrailers);
      this.releaseIfDrained(data);
    }
    if (hasTrailers) this.runTrailers(next);
    position.fromSelf = false;
  }

  /** Moves `data` to what is held; a filter further on may hold the very same buffer again. */
  private hold(data: ByteBuffer): void {
    this.held ??= new ByteBuffer();
    if (this.held !== data) this.held.moveFrom(data);
    if (this.held.length <= this.limitBytes || this.aboveLimit) return;
    if (!this.streaming) {
      this.stopped = true;
      this.hooks.tooLarge();
      return;
    }
    this.aboveLimit = true;
    this.hooks.aboveLimit();
  }

  private releaseIfDrained(data: ByteBuffer): void {
    if (this.held !== data || data.length > 0 || this.isHeld) return;
    this.held = undefined;
    if (!this.aboveLimit) return;
    this.aboveLimit = false;
    this.hooks.belowLimit();
  }
}
