// SPDX-License-Identifier: Apache-2.0
// Reads one text of any length in blocks of 64 bytes and hashes it in canonical form on the way.
import { absorbBlock, BLOCK_BYTES, emptyBlocks, finishBlocks } from "../hash/block";
import { absorbLast, firstBytes, SHORT_TEXT_BYTES, shortText } from "../hash/text";
import { BACKSLASH, QUOTE } from "./bytes";
import {
  EscapeReader,
  isPlainAscii,
  MAX_CANONICAL_BYTES,
  UNIT_BEGIN,
  unitAt,
  UNIT_BYTES,
  writeThreeBytes,
} from "./escape-reader";
import { KeptText } from "./kept-text";
import {
  allPrintable,
  anyControl,
  anyWide,
  backslashMask,
  controlMask,
  escapedMask,
  isPlainLetter,
  plainLength,
  plainLetterMask,
  quoteMask,
  wideFirstMask,
  wideMask,
} from "./masks";
import { Progress } from "./progress";
import { PIECE_BYTES, Sink, Token } from "./sink";
import { SAMPLE_STRIDE } from "./token-sample";

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
    this.token.sample.clear();
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

  /** In place. What is left of a window (64 bytes at most) is read again with the next one. */
  private stride(p: usize, end: usize): usize {
    if (!this.inPieces) return this.endStride(this.skim(p, end), end);
    while (true) {
      const toPiece = PIECE_BYTES - (this.bytes & (PIECE_BYTES - 1));
      const next = this.skim(p, min(end, p + <usize>toPiece + 1));
      if (next != p + <usize>toPiece) return this.endStride(next, end);
      this.reportPiece();
      p = next;
    }
  }

  /**
   * Whole blocks of canonical text, as long as one more byte is in sight (a backslash at the end of a block needs
   * its letter). Four parts of about the same weight: masks, letters of escapes, hash, and checks.
   */
  private skim(p: usize, end: usize): usize {
    const start = p;
    let state = v128.load(this.state);
    let escaped = this.escaped;
    let surplus = this.surplus;
    while (end - p > <usize>BLOCK_BYTES) {
      const a = v128.load(p);
      const b = v128.load(p, 16);
      const c = v128.load(p, 32);
      const d = v128.load(p, 48);
      const quotes = quoteMask(a, b, c, d);
      const backslashes = backslashMask(a, b, c, d);
      // Nothing of a block counts before it is known to be taken: it is read again otherwise.
      let begun: u64 = 0;
      if (backslashes | escaped) {
        const letters = escapedMask(backslashes, escaped);
        if (quotes & ~letters) break;
        if (letters & ~(plainLetterMask(a, b, c, d) | quotes)) break;
        const beginnings = backslashes & ~letters;
        if (beginnings >>> 63 && !isPlainLetter(load<u8>(p, BLOCK_BYTES))) break;
        begun = beginnings;
      } else if (quotes) {
        break;
      }
      if (!allPrintable(a, b, c, d)) {
        if (anyControl(a, b, c, d)) break;
        this.countWide(wideMask(a, b, c, d), wideFirstMask(a, b, c, d));
      }
      escaped = begun >>> 63;
      surplus += <u32>popcnt(begun);
      state = absorbBlock(state, a, b, c, d);
      p += BLOCK_BYTES;
    }
    v128.store(this.state, state);
    this.token.sample.addBlocks(start, p, this.bytes);
    this.bytes += <u32>(p - start);
    this.escaped = escaped;
    this.surplus = surplus;
    return p;
  }

  /** The block in which something happens: the text ends, must be copied, is refused, or the window ends. */
  private endStride(p: usize, end: usize): usize {
    if (p >= end) return p;
    const a = v128.load(p);
    const b = v128.load(p, 16);
    const c = v128.load(p, 32);
    const d = v128.load(p, 48);
    const left = <i32>(end - p);
    const inSight: u64 = left < BLOCK_BYTES ? ((<u64>1) << left) - 1 : -1;
    const quotes = quoteMask(a, b, c, d) & inSight;
    const backslashes = backslashMask(a, b, c, d) & inSight;
    const letters = escapedMask(backslashes, this.escaped) & inSight;
    const beginnings = backslashes & ~letters;
    const closing = quotes & ~letters;
    const odd = letters & ~(plainLetterMask(a, b, c, d) | quotes);
    const controls = controlMask(a, b, c, d) & inSight;
    const events = closing | odd | controls;
    if (events == 0) {
      // With a whole block in sight, only the letter behind its last backslash can have stopped the skimming.
      this.copying = left > BLOCK_BYTES;
      return p;
    }
    const size = <i32>ctz(events);
    if ((closing >>> size) & 1) {
      this.surplus += <u32>popcnt(beginnings & (((<u64>1) << size) - 1));
      this.finish(p, size, a, b, c, d);
      return p + size + 1;
    }
    if ((odd >>> size) & 1) this.copying = true;
    else this.progress = Progress.Malformed;
    return p;
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
        const pending = this.pending;
        this.finish(
          pending,
          this.pendingCount,
          v128.load(pending),
          v128.load(pending, 16),
          v128.load(pending, 32),
          v128.load(pending, 48),
        );
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
    while (true) {
      p = this.copyUnits(p, end);
      if (p >= end || <i32>load<u8>(p) != BACKSLASH) return p;
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
  }

  /** The escapes of which whole texts are made: `\uXXXX` of one byte, or of three without surrogates. */
  private copyUnits(p: usize, end: usize): usize {
    const pending = this.pending;
    let count = this.pendingCount;
    while (end - p >= <usize>UNIT_BYTES && load<u16>(p) == UNIT_BEGIN) {
      const unit = unitAt(p);
      if (unit >= 0x800 && (unit & 0xf800) != 0xd800) {
        writeThreeBytes(pending + count, unit);
        count += 3;
      } else if (isPlainAscii(unit)) {
        store<u8>(pending + count, <u8>unit);
        count++;
      } else {
        break;
      }
      p += UNIT_BYTES;
      if (count < BLOCK_BYTES) continue;
      this.pendingCount = count;
      this.flush();
      count = this.pendingCount;
    }
    this.pendingCount = count;
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
    if (anyWide(a, b, c, d)) this.countWide(wideMask(a, b, c, d), wideFirstMask(a, b, c, d));
    if ((this.bytes & (SAMPLE_STRIDE - 1)) == 0) this.token.sample.add(a);
    this.bytes += BLOCK_BYTES;
    this.pendingCount -= BLOCK_BYTES;
    v128.store(pending, v128.load(pending, 64));
    v128.store(pending, v128.load(pending, 80), 16);
    if (this.inPieces && (this.bytes & (PIECE_BYTES - 1)) == 0) this.reportPiece();
  }

  // @ts-ignore: decorator
  @inline
  private countWide(wide: u64, first: u64): void {
    this.wideBytes += <u32>popcnt(wide);
    this.wideCharacters += <u32>popcnt(first);
  }

  private reportPiece(): void {
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
  private finish(address: usize, size: i32, a: v128, b: v128, c: v128, d: v128): void {
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
