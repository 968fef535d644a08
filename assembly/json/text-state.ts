// SPDX-License-Identifier: Apache-2.0
// What is known of a text while it is read, and what becomes of it at its end.
import { BLOCK_BYTES, emptyBlocks, finishBlocks } from "../hash/block";
import { absorbLast, firstBytes, SHORT_TEXT_BYTES, shortText } from "../hash/text";
import { MAX_CANONICAL_BYTES } from "./escape-reader";
import { KeptText } from "./kept-text";
import { anyWide, wideFirstMask, wideMask } from "./masks";
import { Progress } from "./progress";
import { Sink, Token } from "./sink";

const VECTOR_BYTES: i32 = 16;
/** A block may begin anywhere in the first 63 bytes and be followed by one vector and one escape. */
const PENDING_BYTES: i32 = BLOCK_BYTES + VECTOR_BYTES + MAX_CANONICAL_BYTES + BLOCK_BYTES;

/** Survives from window to window, so it is in memory; loops keep what they change in locals. */
export abstract class TextState {
  /** Of the last `read`. */
  progress: Progress = Progress.NeedMore;

  protected readonly kept: KeptText = new KeptText();
  protected readonly pendingBuffer: StaticArray<u8> = new StaticArray<u8>(PENDING_BYTES);
  protected readonly pending: usize;
  protected readonly stateBuffer: StaticArray<u64> = new StaticArray<u64>(2);
  protected readonly state: usize;

  /** Canonical bytes absorbed, and how many of them (and of the pending ones) decoding takes away. */
  protected bytes: u32 = 0;
  protected surplus: u32 = 0;
  protected wideBytes: u32 = 0;
  protected wideCharacters: u32 = 0;
  /** 1 when the next byte is the letter of an escape. */
  protected escaped: u64 = 0;
  protected copying: bool = false;
  protected pendingCount: i32 = 0;
  protected keep: bool = false;
  protected inPieces: bool = false;

  constructor(
    protected readonly sink: Sink,
    protected readonly token: Token,
  ) {
    this.pending = changetype<usize>(this.pendingBuffer);
    this.state = changetype<usize>(this.stateBuffer);
  }

  /** Makes ready for the text behind an opening quote. */
  begin(keep: bool, inPieces: bool): void {
    this.bytes = this.surplus = this.wideBytes = this.wideCharacters = 0;
    this.escaped = 0;
    this.pendingCount = 0;
    this.copying = this.keep = keep;
    this.inPieces = inPieces;
    this.token.sample.clear();
    v128.store(this.state, emptyBlocks());
    if (keep) this.kept.clear();
  }

  // @ts-ignore: decorator
  @inline
  protected countWide(wide: u64, first: u64): void {
    this.wideBytes += <u32>popcnt(wide);
    this.wideCharacters += <u32>popcnt(first);
  }

  protected reportPiece(): void {
    const token = this.token;
    token.hash = finishBlocks(v128.load(this.state), this.bytes);
    token.bytes = this.bytes - this.surplus;
    token.wideBytes = this.wideBytes;
    token.wideCharacters = this.wideCharacters;
    token.escapes = this.surplus;
    this.sink.piece(token);
  }

  /** Ends the text with the first `size` (0..63) of the canonical bytes at `address`, loaded in four vectors. */
  // @ts-ignore: decorator
  @inline
  protected finish(address: usize, size: i32, a: v128, b: v128, c: v128, d: v128): void {
    const token = this.token;
    const total = this.bytes + <u32>size;
    if (anyWide(a, b, c, d)) {
      const within = ((<u64>1) << size) - 1;
      this.countWide(wideMask(a, b, c, d) & within, wideFirstMask(a, b, c, d) & within);
    }
    if (total <= <u32>SHORT_TEXT_BYTES) {
      token.hash = shortText(v128.and(a, firstBytes(size)), size);
    } else {
      let state = v128.load(this.state);
      if (size > 0) state = absorbLast(state, a, b, c, d, size);
      token.hash = finishBlocks(state, total);
    }
    token.bytes = total - this.surplus;
    token.wideBytes = this.wideBytes;
    token.wideCharacters = this.wideCharacters;
    token.escapes = this.surplus;
    token.textBytes = 0;
    if (this.keep) {
      this.kept.append(address, size);
      this.kept.decodeTo(token);
    }
    this.progress = Progress.Done;
  }
}
