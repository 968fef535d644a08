// SPDX-License-Identifier: Apache-2.0
// Reads one text of any length in blocks of 64 bytes and hashes it in canonical form on the way.
import { absorbBlock, BLOCK_BYTES } from "../hash/block";
import { BACKSLASH, QUOTE, SPACE } from "./bytes";
import {
  EscapeReader,
  isPlainAscii,
  UNIT_BEGIN,
  unitAt,
  UNIT_BYTES,
  writeThreeBytes,
} from "./escape-reader";
import {
  allPrintable,
  anyControl,
  anyWide,
  backslashesOf,
  backslashMask,
  controlMask,
  escapedMask,
  isCommonLetter,
  isPlainLetter,
  oddOf,
  plainLength,
  plainLetterMask,
  printableOf,
  quoteMask,
  quotesOf,
  sumOf,
  wideFirstMask,
  wideMask,
} from "./masks";
import { Progress } from "./progress";
import { PIECE_BYTES, Sink, Token } from "./sink";
import { TextState } from "./text-state";
import { SAMPLE_STRIDE } from "./token-sample";

const VECTOR_BYTES: i32 = 16;
const ALL_LANES: i32 = 0xffff;
/** A lane counts up to 255 escapes, four a block at most. */
const MOST_COUNTED: i32 = 63 * BLOCK_BYTES;
/** Blocks that are inspected before skimming is tried again: most text that resists once does so again. */
const FIRST_PATIENCE: i32 = 8;
const MAX_PATIENCE: i32 = 64;

/**
 * The canonical form of a text keeps the minimal JSON escapes (`\n`, `\"`, `\\`) and has no others, so nearly all
 * text is canonical as it stands and is hashed in place, in the registers that looked for its end (`stride`). From
 * the first other escape on, the rest of the text goes through a buffer (`copy`).
 */
export class TextReader extends TextState {
  private readonly escapes: EscapeReader = new EscapeReader();

  constructor(sink: Sink, token: Token) {
    super(sink, token);
  }

  /** Reads on at `p`; returns the first byte not consumed (behind the closing quote once Done). */
  read(p: usize, end: usize): usize {
    this.progress = Progress.NeedMore;
    if (!this.copying) p = this.stride(p, end);
    if (this.copying) p = this.copy(p, end);
    return p;
  }

  /** The same in another window: what stands before `p` there is not what stood before it in the text. */
  resume(p: usize, end: usize): usize {
    store<u8>(p - 1, this.escaped ? <u8>BACKSLASH : <u8>SPACE);
    return this.read(p, end);
  }

  /** In place. What is left of a window (64 bytes at most) is read again with the next one. */
  private stride(p: usize, end: usize): usize {
    let patience = FIRST_PATIENCE;
    while (end - p > <usize>BLOCK_BYTES) {
      const from = p;
      const stop = this.nextStop(p, end);
      p = this.skim(p, stop);
      if (p < stop) {
        const next = this.endStride(p, end);
        if (next != 0) return next;
        const pause = min(stop, p + <usize>(patience * BLOCK_BYTES));
        p = this.inspect(p, pause);
        if (p < pause) return this.endStride(p, end);
        patience = min(2 * patience, MAX_PATIENCE);
      }
      const isPiece = p != from && (this.bytes & (PIECE_BYTES - 1)) == 0;
      if (this.inPieces && isPiece) this.reportPiece();
    }
    return p < end ? this.endStride(p, end) : p;
  }

  /** Whole blocks that begin before this address can be taken: one more byte behind them is in sight. */
  // @ts-ignore: decorator
  @inline
  private nextStop(p: usize, end: usize): usize {
    const stop = end - <usize>BLOCK_BYTES;
    if (!this.inPieces) return stop;
    return min(stop, p + <usize>(PIECE_BYTES - (this.bytes & (PIECE_BYTES - 1))));
  }

  /**
   * Blocks of ASCII without escapes other than `\n` and `\"`, which is nearly all text. A byte behind a backslash
   * is one that is escaped as long as no backslash is, so no row of backslashes has to be counted: all that a block
   * needs is vector code without a branch that depends on the text.
   */
  private skim(p: usize, stop: usize): usize {
    const escaped: u32 = <i32>load<u8>(p - 1) == BACKSLASH ? 1 : 0;
    if (<u32>this.escaped != escaped) return p;
    let state = v128.load(this.state);
    const start = p;
    while (p < stop) {
      let counts = i8x16.splat(0);
      let taken = counts;
      let dense = false;
      const pause = min(stop, p + <usize>MOST_COUNTED);
      // In front of the block, so that both the block and the bytes before it are at constant distances.
      let q = p - 1;
      while (q + 1 < pause) {
        const a = v128.load(q, 1);
        const b = v128.load(q, 17);
        const c = v128.load(q, 33);
        const d = v128.load(q, 49);
        const ea = backslashesOf(v128.load(q));
        const eb = backslashesOf(v128.load(q, 16));
        const ec = backslashesOf(v128.load(q, 32));
        const ed = backslashesOf(v128.load(q, 48));
        const qa = quotesOf(a);
        const qb = quotesOf(b);
        const qc = quotesOf(c);
        const qd = quotesOf(d);
        const anyEscaped = i8x16.bitmask(v128.or(v128.or(ea, eb), v128.or(ec, ed))) != 0;
        let odd: v128;
        if (anyEscaped || dense) {
          const ab = v128.or(oddOf(a, ea, qa), oddOf(b, eb, qb));
          odd = v128.or(ab, v128.or(oddOf(c, ec, qc), oddOf(d, ed, qd)));
          counts = i8x16.sub(counts, i8x16.add(i8x16.add(ea, eb), i8x16.add(ec, ed)));
        } else {
          odd = v128.or(v128.or(qa, qb), v128.or(qc, qd));
        }
        dense = anyEscaped;
        const fine = v128.andnot(printableOf(a, b, c, d), odd);
        if (i8x16.bitmask(fine) != ALL_LANES) break;
        if (<i32>load<u8>(q, 64) == BACKSLASH && !isCommonLetter(load<u8>(q, 65))) break;
        taken = counts;
        state = absorbBlock(state, a, b, c, d);
        q += BLOCK_BYTES;
      }
      this.surplus += sumOf(taken);
      p = q + 1;
      if (p < pause) break;
    }
    v128.store(this.state, state);
    this.token.sample.addBlocks(start, p, this.bytes);
    this.bytes += <u32>(p - start);
    // What was counted are letters; what counts so far are backslashes.
    this.escaped = <i32>load<u8>(p - 1) == BACKSLASH ? 1 : 0;
    this.surplus += <u32>this.escaped - escaped;
    return p;
  }

  /**
   * Blocks of any canonical text. Four parts of about the same weight: masks, letters of escapes, hash, and checks.
   * A backslash at the end of a block needs its letter, which is in sight.
   */
  private inspect(p: usize, stop: usize): usize {
    const start = p;
    let state = v128.load(this.state);
    let escaped = this.escaped;
    let surplus = this.surplus;
    while (p < stop) {
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

  /**
   * The block in which something happens: the text ends, must be copied, is refused, or the window ends.
   * @returns 0 where nothing does, in a block that is whole
   */
  private endStride(p: usize, end: usize): usize {
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
      if (left <= BLOCK_BYTES) return p;
      this.copying = beginnings >>> 63 && !isPlainLetter(load<u8>(p, BLOCK_BYTES));
      return this.copying ? p : 0;
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
    while (end - p >= <usize>UNIT_BYTES) {
      if (load<u16>(p) == UNIT_BEGIN) {
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
      } else {
        // One byte of plain text between two escapes, as the space between words.
        const byte = <i32>load<u8>(p);
        if (!isPlainAscii(byte) || load<u16>(p, 1) != UNIT_BEGIN) break;
        store<u8>(pending + count, <u8>byte);
        count++;
        p++;
      }
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
}
