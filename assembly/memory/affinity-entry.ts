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
  /** Times in a row that something other than a plain follow-up went to each endpoint from here. */
  uses0: u8;
  uses1: u8;
  /** Requests that ended exactly here within the twin window, up to 255. */
  serves: u8;
  reserved0: u8;
  reserved1: u16;

  ref(index: i32): HomeRef {
    return changetype<HomeRef>(
      changetype<usize>(this) + offsetof<AffinityEntry>() + <usize>index * REF_BYTES,
    );
  }

  uses(index: i32): i32 {
    return <i32>(index == 0 ? this.uses0 : this.uses1);
  }

  setUses(index: i32, uses: i32): void {
    const bounded = <u8>min(uses, 255);
    if (index == 0) this.uses0 = bounded;
    else this.uses1 = bounded;
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
