// SPDX-License-Identifier: Apache-2.0
// Reads one text of any length in blocks of 64 bytes and hashes it in canonical form on the way.
import { absorbBlock, BLOCK_BYTES, emptyBlocks, finishBlocks } from "../hash/block";
import { absorbLast, firstBytes, SHORT_TEXT_BYTES, shortText } from "../hash/text";
import { BACKSLASH, QUOTE, SPACE } from "./bytes";
import { EscapeReader, MAX_CANONICAL_BYTES } from "./escape-reader";
import { KeptText } from "./kept-text";
import {
  anyWide,
  controlMask,
  equalMask,
  escapedMask,
  isPlainLetter,
  plainLetterMask,
  wideFirstMask,
  wideMask,
} from "./masks";
import { Progress } from "./progress";
import { PIECE_BYTES, Sink, Token } from "./sink";

const VECTOR_BYTES: i32 = 16;
/** A block may begin anywhere in the first 63 bytes and be followed by one vector and one escape. */
const PENDING_BYTES: i32 = BLOCK_BYTES + VECTOR_BYTES + MAX_CANONICAL_BYTES + BLOCK_BYTES;

/**
 * The canonical form of a text keeps the minimal JSON escapes (`\n`, `\"`, `\\`) and has no others, so nearly all
 * text is canonical as it stands and is hashed in place, in the registers that looked for its end (`stride`).
 * From the first other escape on, the rest of the text goes through a buffer (`copy`).
 */
export class TextReader {
  /** Of the last `read`. */
  progress: Progress = Progress.NeedMore;

  private readonly escapes: EscapeReader = new EscapeReader();
  private readonly kept: KeptText = new KeptText();
  private readonly pendingBuffer: StaticArray<u8> = new StaticArray<u8>(PENDING_BYTES);
  private readonly pending: usize;
  private readonly stateBuffer: StaticArray<u64> = new StaticArray<u64>(2);
  private readonly state: usize;

  /** Canonical bytes absorbed, and how many of them (and of the pending ones) decoding takes away. */
  private bytes: u32 = 0;
  private surplus: u32 = 0;
  private wideBytes: u32 = 0;
  private wideCharacters: u32 = 0;
  /** 1 when the next byte is the letter of an escape. */
  private escaped: u64 = 0;
  private copying: bool = false;
  private pendingCount: i32 = 0;
  private keep: bool = false;
  private inPieces: bool = false;

  constructor(
    private readonly sink: Sink,
    private readonly token: Token,
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
    v128.store(this.state, emptyBlocks());
    if (keep) this.kept.clear();
  }

  /** Reads on at `p`; returns the first byte not consumed (behind the closing quote once Done). */
  read(p: usize, end: usize): usize {
    this.progress = Progress.NeedMore;
    if (!this.copying) p = this.stride(p, end);
    if (this.copying) p = this.copy(p, end);
    return p;
  }

  /** In place, a block at a time. What is left of a window (64 bytes at most) is read again with the next one. */
  private stride(p: usize, end: usize): usize {
    const start = p;
    let state = v128.load(this.state);
    let escaped = this.escaped;
    let surplus = this.surplus;
    while (p < end) {
      const a = v128.load(p);
      const b = v128.load(p, 16);
      const c = v128.load(p, 32);
      const d = v128.load(p, 48);
      const whole = end - p > <usize>BLOCK_BYTES;
      const inSight: u64 =
        whole || end - p == <usize>BLOCK_BYTES ? -1 : ((<u64>1) << (end - p)) - 1;
      const quotes = equalMask(QUOTE, a, b, c, d) & inSight;
      const backslashes = equalMask(BACKSLASH, a, b, c, d) & inSight;
      let closing = quotes;
      let odd: u64 = 0;
      let beginnings: u64 = 0;
      if (backslashes | escaped) {
        const letters = escapedMask(backslashes, escaped) & inSight;
        closing = quotes & ~letters;
        beginnings = backslashes & ~letters;
        odd = letters & ~(plainLetterMask(a, b, c, d) | quotes);
        if (whole && beginnings >>> 63) {
          const next = <i32>load<u8>(p, BLOCK_BYTES);
          if (next != QUOTE && !isPlainLetter(next)) odd |= (<u64>1) << 63;
        }
      }
      const controls = controlMask(a, b, c, d) & inSight;
      if (closing | odd | controls) {
        const size = <i32>ctz(closing | odd | controls);
        this.leaveStride(p - start, state, escaped, surplus);
        if (((closing >>> size) & 1) != 0) {
          this.surplus += <u32>popcnt(beginnings & (((<u64>1) << size) - 1));
          this.finish(p, size);
          return p + size + 1;
        }
        if (((odd >>> size) & 1) == 0) this.progress = Progress.Malformed;
        else this.copying = true;
        return p;
      }
      if (!whole) break;
      state = absorbBlock(state, a, b, c, d);
      if (anyWide(a, b, c, d)) this.countWide(a, b, c, d);
      escaped = beginnings >>> 63;
      surplus += <u32>popcnt(beginnings);
      p += BLOCK_BYTES;
      if (this.inPieces && ((this.bytes + <u32>(p - start)) & (PIECE_BYTES - 1)) == 0) {
        this.reportPiece(state, this.bytes + <u32>(p - start), surplus);
      }
    }
    this.leaveStride(p - start, state, escaped, surplus);
    return p;
  }

  private leaveStride(consumed: usize, state: v128, escaped: u64, surplus: u32): void {
    this.bytes += <u32>consumed;
    v128.store(this.state, state);
    this.escaped = escaped;
    this.surplus = surplus;
  }

  /** Through the buffer, up to a vector of plain text or one escape at a time. */
  private copy(p: usize, end: usize): usize {
    if (this.escaped && p < end) {
      store<u8>(this.pending + this.pendingCount, load<u8>(p));
      this.pendingCount++;
      this.escaped = 0;
      p++;
    }
    while (p < end) {
      const bytes = v128.load(p);
      v128.store(this.pending + this.pendingCount, bytes);
      const plain = min(<i32>(end - p), plainLength(bytes));
      this.pendingCount += plain;
      p += plain;
      if (this.pendingCount >= BLOCK_BYTES) this.flush();
      if (plain == VECTOR_BYTES || p >= end) continue;
      const byte = <i32>load<u8>(p);
      if (byte == QUOTE) {
        this.finish(this.pending, this.pendingCount);
        return p + 1;
      }
      if (byte != BACKSLASH) {
        this.progress = Progress.Malformed;
        return p;
      }
      const next = this.copyEscapes(p, end);
      if (next == p) return p;
      p = next;
    }
    return p;
  }

  /** Rewrites a row of escapes. Returns `p` itself when the first one is not all in sight or is none. */
  private copyEscapes(p: usize, end: usize): usize {
    const escapes = this.escapes;
    while (p < end && <i32>load<u8>(p) == BACKSLASH) {
      const taken = escapes.readEscape(p, end, this.pending + this.pendingCount);
      if (taken == 0) {
        this.progress = escapes.progress;
        return p;
      }
      p += taken;
      this.pendingCount += escapes.written;
      this.surplus += escapes.surplus;
      if (this.pendingCount >= BLOCK_BYTES) this.flush();
    }
    return p;
  }

  /** Absorbs the first pending block and moves what follows it to the front. */
  private flush(): void {
    const pending = this.pending;
    const a = v128.load(pending);
    const b = v128.load(pending, 16);
    const c = v128.load(pending, 32);
    const d = v128.load(pending, 48);
    if (this.keep) this.kept.append(pending, BLOCK_BYTES);
    const state = absorbBlock(v128.load(this.state), a, b, c, d);
    v128.store(this.state, state);
    if (anyWide(a, b, c, d)) this.countWide(a, b, c, d);
    this.bytes += BLOCK_BYTES;
    this.pendingCount -= BLOCK_BYTES;
    v128.store(pending, v128.load(pending, 64));
    v128.store(pending, v128.load(pending, 80), 16);
    if (this.inPieces && (this.bytes & (PIECE_BYTES - 1)) == 0) {
      this.reportPiece(state, this.bytes, this.surplus);
    }
  }

  private countWide(a: v128, b: v128, c: v128, d: v128): void {
    this.wideBytes += <u32>popcnt(wideMask(a, b, c, d));
    this.wideCharacters += <u32>popcnt(wideFirstMask(a, b, c, d));
  }

  private reportPiece(state: v128, bytes: u32, surplus: u32): void {
    const token = this.token;
    token.hash = finishBlocks(state, bytes);
    token.bytes = bytes - surplus;
    token.wideBytes = this.wideBytes;
    token.wideCharacters = this.wideCharacters;
    this.sink.piece(token);
  }

  /** Ends the text with `size` (0..63) canonical bytes at `address` and fills the token. */
  private finish(address: usize, size: i32): void {
    const token = this.token;
    const total = this.bytes + <u32>size;
    if (size > 0) this.countLast(address, size);
    if (total <= <u32>SHORT_TEXT_BYTES) {
      token.hash = shortText(v128.and(v128.load(address), firstBytes(size)), size);
    } else {
      let state = v128.load(this.state);
      if (size > 0) state = absorbLast(state, address, size);
      token.hash = finishBlocks(state, total);
    }
    token.bytes = total - this.surplus;
    token.wideBytes = this.wideBytes;
    token.wideCharacters = this.wideCharacters;
    token.text = 0;
    token.textBytes = 0;
    if (this.keep) {
      this.kept.append(address, size);
      this.kept.decodeTo(token);
    }
    this.progress = Progress.Done;
  }

  private countLast(address: usize, size: i32): void {
    const a = v128.load(address);
    const b = v128.load(address, 16);
    const c = v128.load(address, 32);
    const d = v128.load(address, 48);
    if (!anyWide(a, b, c, d)) return;
    const within = ((<u64>1) << size) - 1;
    this.wideBytes += <u32>popcnt(wideMask(a, b, c, d) & within);
    this.wideCharacters += <u32>popcnt(wideFirstMask(a, b, c, d) & within);
  }
}

/** Bytes of a vector before the first one that cannot be copied as it is: quote, backslash, control character. */
// @ts-ignore: decorator
@inline
export function plainLength(bytes: v128): i32 {
  const special = v128.or(
    v128.or(i8x16.eq(bytes, i8x16.splat(<i8>QUOTE)), i8x16.eq(bytes, i8x16.splat(<i8>BACKSLASH))),
    i8x16.lt_u(bytes, i8x16.splat(<i8>SPACE)),
  );
  return <i32>ctz<u32>((<u32>i8x16.bitmask(special)) | 0x10000);
}
