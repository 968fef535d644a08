// SPDX-License-Identifier: Apache-2.0
// What each candidate would have to compute for one request, as far as a gateway can believe.
import { Tier } from "../../config/options";
import { Homes } from "../../memory/homes";
import { Learned } from "../../memory/learned";
import { Loads, MAX_CANDIDATES } from "../../memory/loads";
import { Request } from "../../request/request";
import { candidateOf, isFollowUp, NO_INDEX } from "./policy";

/** Answers without cached tokens, none ever with them, until a tier counts as complete (a wrong 1 costs nothing). */
export const SILENT_ANSWERS: f64 = 32;

/** G: the share of a missing prefix that a global tier is believed to return, 0..1. */
export function returnedShare(tier: Tier, learned: Learned): f64 {
  if (tier == Tier.None) return 0;
  if (tier == Tier.Full) return 1;
  if (learned.reports == 0 && learned.silent >= SILENT_ANSWERS) return 1;
  return learned.returnedShare;
}

/** Reused from pick to pick. All numbers are tokens. */
export class Estimate {
  /** L: the whole prompt. */
  prompt: f64 = 0;
  /** m: prefix of the prompt that was served somewhere behind this gateway. */
  seen: f64 = 0;
  /** G of this request. */
  share: f64 = 0;
  /** Row of the endpoint that holds most of a follow-up's prefix, or NO_INDEX. */
  home: i32 = NO_INDEX;
  /** Row of the endpoint that served a follow-up last, whatever it still holds, or NO_INDEX. */
  former: i32 = NO_INDEX;
  private held: StaticArray<f64> = new StaticArray<f64>(MAX_CANDIDATES);

  reset(request: Request, homes: Homes, loads: Loads, share: f64): void {
    this.prompt = <f64>request.promptTokens;
    this.share = share;
    this.home = NO_INDEX;
    this.former = NO_INDEX;
    const head = min(<f64>request.headTokens, this.prompt);
    for (let i = 0; i < loads.count; i++) this.held[i] = loads.headServed[i] ? head : 0;
    this.believe(homes, loads);
    let seen: f64 = min(<f64>homes.seenTokens, this.prompt);
    for (let i = 0; i < loads.count; i++) seen = max(seen, this.held[i]);
    this.seen = seen;
  }

  /** h: prefix believed to be cached at the endpoint of that row. */
  heldAt(row: i32): f64 {
    return this.held[row];
  }

  /** Tokens that the endpoint would fetch from a global tier. */
  fetchedAt(row: i32): f64 {
    return this.share * (this.seen - this.held[row]);
  }

  /** Tokens that the endpoint would compute. */
  uncachedAt(row: i32): f64 {
    return this.prompt - this.held[row] - this.fetchedAt(row);
  }

  /** Seconds of prefill and fetching that the endpoint would spend on this request alone. */
  ownSeconds(row: i32, learned: Learned): f64 {
    return (
      learned.uncachedSeconds * this.uncachedAt(row) + learned.fetchedSeconds * this.fetchedAt(row)
    );
  }

  /**
   * Takes over the beliefs that are newer than the last eviction seen at their endpoint. Under another head they
   * are what the two heads have in common, too little to make a home.
   */
  private believe(homes: Homes, loads: Loads): void {
    const followUp = isFollowUp(homes) && !homes.headDiffers;
    let most: f64 = -1;
    let latestMs: u64 = 0;
    for (let k = 0; k < homes.count; k++) {
      const row = candidateOf(loads, homes.slots[k]);
      if (row == NO_INDEX) continue;
      if (followUp && homes.servedMs[k] > latestMs) {
        latestMs = homes.servedMs[k];
        this.former = row;
      }
      if (homes.servedMs[k] <= loads.horizonMs[row]) continue;
      const held = max(this.held[row], min(<f64>homes.prefixTokens[k], this.prompt));
      this.held[row] = held;
      if (!followUp || held <= most) continue;
      most = held;
      this.home = row;
    }
  }
}
