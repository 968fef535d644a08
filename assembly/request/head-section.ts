// SPDX-License-Identifier: Apache-2.0
// One section of the head, hashed whole and in pieces, so that a change reports how much in front of it is common.
import { fold } from "../hash/mix";
import { Token } from "../json/sink";
import { MAX_HEAD_PIECES, Request } from "./request";
import { Tally } from "./tally";

export class HeadSection {
  hash: u64 = 0;
  readonly tally: Tally = new Tally();

  /** The tally at a piece of what is at hand. */
  private readonly reached: Tally = new Tally();
  private pieces: i32 = 0;
  /** Pieces up to the last complete part: those behind it may turn out not to belong here. */
  private complete: i32 = 0;
  /** Hash of the section up to a piece, and its bytes and estimated tokens. */
  private readonly hashes: StaticArray<u64> = new StaticArray<u64>(MAX_HEAD_PIECES);
  private readonly bytes: StaticArray<u32> = new StaticArray<u32>(MAX_HEAD_PIECES);
  private readonly tokens: StaticArray<u32> = new StaticArray<u32>(MAX_HEAD_PIECES);

  constructor(private readonly seed: u64) {
    this.hash = seed;
  }

  clear(): void {
    this.hash = this.seed;
    this.tally.clear();
    this.pieces = this.complete = 0;
  }

  /** Takes over what another section came to. */
  copyFrom(other: HeadSection): void {
    const pieces = other.pieces;
    this.hash = other.hash;
    this.tally.copyFrom(other.tally);
    this.pieces = this.complete = pieces;
    for (let i = 0; i < pieces; i++) {
      unchecked((this.hashes[i] = other.hashes[i]));
      unchecked((this.bytes[i] = other.bytes[i]));
      unchecked((this.tokens[i] = other.tokens[i]));
    }
  }

  get isEmpty(): bool {
    return this.hash == this.seed;
  }

  /** A tool, a part of the system text, a system item; its text is in the tally. */
  add(value: u64): void {
    this.hash = fold(this.hash, value);
    this.keep(this.hash, this.tally);
    this.complete = this.pieces;
  }

  /** A long text of the section has come to another piece; none of it is in the tally. */
  addPiece(token: Token): void {
    const reached = this.reached;
    reached.copyFrom(this.tally);
    reached.addText(token);
    this.keep(fold(this.hash, token.hash), reached);
  }

  /**
   * A long text of an item has come to another piece.
   * @param item text of the item in front of this one, not in the tally yet
   * @param parts hash of the parts of the item in front of this one
   */
  addPieceOfItem(item: Tally, parts: u64, token: Token): void {
    const reached = this.reached;
    reached.copyFrom(this.tally);
    reached.add(item);
    reached.addText(token);
    this.keep(fold(fold(this.hash, parts), token.hash), reached);
  }

  /** An item has come to the end of a part; `item` and `parts` are of all its parts so far. */
  addPartOfItem(item: Tally, parts: u64): void {
    const reached = this.reached;
    reached.copyFrom(this.tally);
    reached.add(item);
    this.keep(fold(this.hash, parts), reached);
  }

  /** What was at hand does not belong to the section: its pieces go. */
  forgetOpen(): void {
    this.pieces = this.complete;
  }

  /** Appends the pieces to those of the sections in front, all of which `before` is the hash of. */
  listPieces(request: Request, before: u64): void {
    const first = request.headPieceCount;
    const bytes = first > 0 ? request.headPieceBytes[first - 1] : 0;
    const tokens = first > 0 ? request.headPieceTokens[first - 1] : 0;
    const listed = min(this.pieces, MAX_HEAD_PIECES - first);
    for (let i = 0; i < listed; i++) {
      const piece = first + i;
      unchecked((request.headPieces[piece] = fold(before, this.hashes[i])));
      unchecked((request.headPieceBytes[piece] = bytes + this.bytes[i]));
      unchecked((request.headPieceTokens[piece] = tokens + this.tokens[i]));
    }
    request.headPieceCount = first + listed;
  }

  private keep(hash: u64, reached: Tally): void {
    if (this.pieces == MAX_HEAD_PIECES) return;
    const piece = this.pieces++;
    unchecked((this.hashes[piece] = hash));
    unchecked((this.bytes[piece] = reached.bytes));
    unchecked((this.tokens[piece] = reached.tokens));
  }
}
