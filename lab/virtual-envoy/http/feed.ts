// SPDX-License-Identifier: Apache-2.0
// Bytes on their way into a pipeline: cut as the codec cuts them, kept back while reading is disabled.
import { ByteBuffer } from "./byte-buffer.ts";
import type { HeaderMap } from "./header-map.ts";
import type { Pipeline } from "./pipeline.ts";
import type { Protocol } from "./stream-info.ts";

/** Most bytes of one HTTP/2 DATA frame in practice: SETTINGS_MAX_FRAME_SIZE at its default. */
const HTTP2_FRAME_BYTES = 16384;

type Item =
  | { kind: "data"; bytes: Uint8Array; end: boolean; sameRead: boolean }
  | { kind: "trailers"; trailers: HeaderMap; sameRead: boolean };

export interface FeedOptions {
  protocol: Protocol;
  /** HTTP/1 reads at most this much before it hands over. */
  readLimitBytes: number;
  /** Bytes of the head that share the first HTTP/1 read with the body. */
  headBytes: number;
}

export class Feed {
  private readonly queue: Item[] = [];
  private readDisabled = false;
  private pumping = false;
  private roomBytes: number;
  closed = false;

  constructor(
    private readonly pipeline: Pipeline,
    private readonly options: FeedOptions,
  ) {
    this.roomBytes = Math.max(1, options.readLimitBytes - options.headBytes);
  }

  /** Bytes that have arrived but are not read: the peer is held up by flow control. */
  get waitingBytes(): number {
    return this.queue.reduce(
      (sum, item) => sum + (item.kind === "data" ? item.bytes.length : 0),
      0,
    );
  }

  /**
   * One arrival.
   * @param end the message ends with it; HTTP/1 shows that as an empty call of its own, HTTP/2 does when `endApart`
   */
  arrive(bytes: Uint8Array, end: boolean, trailers?: HeaderMap, endApart = true): void {
    const { protocol, readLimitBytes } = this.options;
    const bareEnd = end && trailers === undefined;
    let start = 0;
    while (start < bytes.length) {
      const most = protocol === "http2" ? HTTP2_FRAME_BYTES : this.roomBytes;
      this.roomBytes = readLimitBytes;
      const piece = bytes.subarray(start, start + most);
      start += piece.length;
      const last = bareEnd && !endApart && start === bytes.length;
      this.queue.push({ kind: "data", bytes: piece, end: last, sameRead: false });
    }
    // The end of an HTTP/1 message comes out of the same read as its last bytes, read-disabled or not.
    const sameRead = protocol === "http1" && bytes.length > 0;
    const apart = bareEnd && (endApart || bytes.length === 0);
    if (apart) this.queue.push({ kind: "data", bytes: EMPTY, end: true, sameRead });
    if (trailers !== undefined) this.queue.push({ kind: "trailers", trailers, sameRead });
    this.pump();
  }

  disableReading(): void {
    this.readDisabled = true;
  }

  enableReading(): void {
    this.readDisabled = false;
    this.pump();
  }

  close(): void {
    this.closed = true;
    this.queue.length = 0;
  }

  private pump(): void {
    if (this.pumping) return;
    this.pumping = true;
    while (!this.closed) {
      const item = this.queue[0];
      if (item === undefined || (this.readDisabled && !item.sameRead)) break;
      this.queue.shift();
      if (item.kind === "trailers") this.pipeline.receiveTrailers(item.trailers);
      else this.pipeline.receiveData(ByteBuffer.of(item.bytes), item.end);
    }
    this.pumping = false;
  }
}

const EMPTY = new Uint8Array(0);
