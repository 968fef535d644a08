// SPDX-License-Identifier: Apache-2.0
// How one boundary of a conversation lies in its bucket: 64 bytes, about nine of them a session.
import { MAX_HOMES } from "./homes";

/** The endpoint holds the whole chain and the answer that followed it. */
export const WHOLE_CHAIN: u32 = 0xffffffff;

/** One endpoint that holds the prefix. */
@unmanaged
export class HomeRef {
  slot: u16;
  /** Of the slot when this was learned, never 0; 0 = no endpoint here. */
  generation: u16;
  /** Tokens of the chain (without the head) that it holds, or WHOLE_CHAIN. */
  tokens: u32;
  /** Seconds since the epoch. */
  servedS: u32;
  /** Tag of the session that was served; 0 = none was given. */
  session: u32;
}

const REF_BYTES: usize = offsetof<HomeRef>();


@unmanaged
export class AffinityEntry {
  /** Chain and model (with salt and adapter). */
  key: u64;
  /** Key of the boundary that leaves when the next turn is stored; 0 = none. */
  dropKey: u64;
  /** Tag of the head that was rendered before the chain. */
  head: u32;
  /** When the session last changed its endpoint, seconds since the epoch; 0 = never. */
  movedS: u32;
  /** Verified turn of the request that ended here; 0 = nobody's end, and no served turn led here. */
  turn: u16;
  /** Requests that ended exactly here, on each endpoint of the set and together, up to 255. */
  ends0: u8;
  ends1: u8;
  /** Of those that continue from here while others do, how many went to each endpoint. */
  nexts0: u8;
  nexts1: u8;
  serves: u8;
  /** Answers in a row that reported far fewer cached tokens than this session was believed to have. */
  doubts: u8;

  ref(index: i32): HomeRef {
    return changetype<HomeRef>(
      changetype<usize>(this) + offsetof<AffinityEntry>() + <usize>index * REF_BYTES,
    );
  }

  ends(index: i32): i32 {
    return <i32>(index == 0 ? this.ends0 : this.ends1);
  }

  nexts(index: i32): i32 {
    return <i32>(index == 0 ? this.nexts0 : this.nexts1);
  }

  /** Counts one more request that ended here. */
  addEnd(index: i32): void {
    if (index == 0) this.ends0 = next(this.ends0);
    else this.ends1 = next(this.ends1);
  }

  /** Counts one more request that continued from here. */
  addNext(index: i32): void {
    if (index == 0) this.nexts0 = next(this.nexts0);
    else this.nexts1 = next(this.nexts1);
  }

  addDoubt(): void {
    this.doubts = next(this.doubts);
  }

  addServe(): void {
    this.serves = next(this.serves);
  }

  /** Begins to count again: what was counted is long past. */
  forgetCounts(): void {
    this.ends0 = 0;
    this.ends1 = 0;
    this.nexts0 = 0;
    this.nexts1 = 0;
    this.serves = 0;
  }

  /** When any endpoint last served from here, seconds since the epoch. */
  get lastServedS(): u32 {
    let last: u32 = 0;
    for (let i = 0; i < MAX_HOMES; i++) {
      if (this.ref(i).generation != 0) last = max(last, this.ref(i).servedS);
    }
    return last;
  }
}

export const ENTRY_BYTES: i32 = <i32>offsetof<AffinityEntry>() + MAX_HOMES * <i32>REF_BYTES;

function next(count: u8): u8 {
  return count == u8.MAX_VALUE ? count : count + 1;
}
