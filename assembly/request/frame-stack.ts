// SPDX-License-Identifier: Apache-2.0
// The open objects and arrays of a body, innermost on top, in bounded memory.
import { fold } from "../hash/mix";
import { Token } from "../json/sink";
import { Frame } from "./frame";
import { Place } from "./place";
import { Tally } from "./tally";

/** Levels with a frame of their own; what lies deeper is hashed as one row of tokens. */
const MAX_FRAMES: i32 = 32;
/** The end of a container in that row. */
const DEEP_END: u64 = 0x7137449123ef65cd;

export class FrameStack {
  top: Frame = new Frame();
  private readonly frames: StaticArray<Frame> = newFrames();
  private depth: i32 = 0;
  /** Levels below the deepest frame. */
  private excess: i32 = 0;

  /** Leaves one frame around the body: its only value stands at Top if it is an object. */
  clear(): void {
    this.depth = this.excess = 0;
    this.top = unchecked(this.frames[0]);
    this.top.open(Place.Ignored, true, Place.Top);
  }

  /** The frame around the top one. */
  get parent(): Frame {
    return unchecked(this.frames[max(this.depth - 1, 0)]);
  }

  /** The token at hand lies below the deepest frame. */
  // @ts-ignore: decorator
  @inline
  get isDeep(): bool {
    return this.excess > 0;
  }

  /** Puts a frame on top, to be opened; false where there is none left. */
  push(kind: u64): bool {
    if (this.excess > 0 || this.depth + 1 == MAX_FRAMES) {
      this.excess++;
      this.addDeep(kind);
      return false;
    }
    this.depth++;
    this.top = unchecked(this.frames[this.depth]);
    return true;
  }

  /** Takes the top frame off; false where the container had none. */
  pop(): bool {
    if (this.excess > 0) {
      this.excess--;
      this.addDeep(DEEP_END);
      return false;
    }
    this.depth--;
    this.top = unchecked(this.frames[this.depth]);
    return true;
  }

  /** A key or text below the deepest frame. */
  addDeepText(token: Token, tally: Tally): void {
    tally.addPrintedName(token);
    this.addDeep(token.hash);
  }

  /** A token below the deepest frame. */
  addDeep(hash: u64): void {
    this.top.sum = fold(this.top.sum, hash);
    this.top.count++;
  }
}

function newFrames(): StaticArray<Frame> {
  const frames = new StaticArray<Frame>(MAX_FRAMES);
  for (let i = 0; i < MAX_FRAMES; i++) frames[i] = new Frame();
  return frames;
}
