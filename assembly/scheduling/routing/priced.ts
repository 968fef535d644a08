// SPDX-License-Identifier: Apache-2.0
// Policy `priced`, the default: first turns go where they cost least, follow-ups stay until moving pays clearly.
import { Tier } from "../../config/options";
import { Homes } from "../../memory/homes";
import { Learned } from "../../memory/learned";
import { Loads } from "../../memory/loads";
import { Reason } from "../../metrics/reason";
import { Request } from "../../request/request";
import { Decision } from "../decision";
import { Estimate, returnedShare } from "./estimate";
import { Lowest } from "./lowest";
import { placedByEnvoy, RoutingOptions } from "./options";
import { leaveToEnvoy, NO_INDEX, placementReason, Policy, sendTo } from "./policy";
import { rendezvous, sessionOf } from "./rendezvous";

/** A follow-up's own work delays everybody queued or decoding at its endpoint; 5 to 20 are alike. */
const FOLLOW_UP_WORK: f64 = 10;
/** In a prefill pool nobody decodes: it delays those in the queue alone. */
const POOL_WORK: f64 = 3;
/** Weight of tokens that a first turn finds committed to other sessions. */
const COMMITTED_PRICE: f64 = 0.3;
/** A session that leaves its home displaces KV elsewhere, which no tier returns. */
const DISPLACEMENT: f64 = 20;
/** Memory is scarce where a context is evicted that was in use so short a time ago. */
const SCARCE_MS: f64 = 120_000;
/** Below this G there is no tier. */
const NO_TIER_SHARE: f64 = 0.1;
/** What one of several gateways believes may be stale: it moves a session practically never. */
const BLIND_GAP_SECONDS: f64 = 20;
/** Without a tier a session moves at most once in this time. */
const MOVE_WINDOW_MS: f64 = 60_000;

/**
 * Seconds of the endpoint's time, learned speeds (w1, w2), G = share that a tier returns, D = decode price of a
 * context token, rho = G w2 + (1 - G) w1 = refill price of a token; q, f, r as in `Loads`:
 *
 *     own(i)    = w1 uncached(i) + w2 fetched(i)
 *     cold:       argmin w1 q_i + own(i) + D f_i + 0.3 rho r_i
 *     follow-up:  v(i) = w1 q_i + 10 own(i) + D f_i, away from home j where memory is scarce: + 20 (1 - G) w1 L
 *                 moves from j to argmin v only if v < v(j) - s and the last move is 60 s (1 - G) ago;
 *                 s = 2 seconds, without a tier 4
 *
 * Memory is scarce where an endpoint evicted, within two minutes of its last use, a context that was asked for
 * again. A move would then carry the thrashing to an endpoint that is spared so far, so that sessions whose home
 * evicted them keep it as well; elsewhere these are cold. In a prefill pool memory always counts as scarce. Nobody
 * decodes there, so that own work weighs 3 instead of 10, and s is 1 second.
 *
 * One of several gateways that share nothing (and no complete tier) cannot see who serves a session that is new to
 * it: cold requests then go to the session's rendezvous endpoint, and the gap is 20 s. Another gateway's load is
 * never guessed from one's own.
 *
 * Source: own, the best of 23 policies in a simulated comparison; the constants without a unit hold in all its cells.
 */
export class Priced extends Policy {
  private estimate: Estimate = new Estimate();
  private lowest: Lowest = new Lowest();
  /** Row of the endpoint that the request at hand leaves if it goes anywhere else, or NO_INDEX. */
  private home: i32 = NO_INDEX;
  /** What a session displaces elsewhere would be asked for again. */
  private scarce: bool = false;

  constructor(
    private options: RoutingOptions,
    private learned: Learned,
  ) {
    super();
  }

  pick(
    request: Request,
    homes: Homes,
    loads: Loads,
    nowMs: u64,
    chance: u64,
    decision: Decision,
  ): void {
    const estimate = this.estimate;
    estimate.reset(request, homes, loads, returnedShare(this.options.tier, this.learned));
    this.scarce = this.options.prefillPool || evictsUsed(loads, nowMs);
    this.home = this.homeRow;
    if (this.home != NO_INDEX) {
      this.follow(request, homes, loads, nowMs, chance, decision);
      return;
    }
    const reason = placementReason(request);
    if (placedByEnvoy(this.options, loads)) {
      leaveToEnvoy(request, reason, decision);
      return;
    }
    // A sample of a large fleet need not hold the session's rendezvous endpoint.
    const session = this.isBlind && !loads.sampled ? sessionOf(request) : 0;
    const row =
      session != 0 ? rendezvous(session, loads) : this.cheapestPlace(homes, loads, chance);
    this.send(row, reason, request, loads, decision);
  }

  /** An evicted session keeps its home where memory is scarce, unless another gateway may have moved it since. */
  private get homeRow(): i32 {
    const home = this.estimate.home;
    const keeps = home == NO_INDEX && this.scarce && !this.isBlind;
    return keeps ? this.estimate.former : home;
  }

  /** Other gateways serve the same sessions, and a miss is not cheap. */
  private get isBlind(): bool {
    return this.options.gateways > 1 && this.options.tier != Tier.Full;
  }

  private cheapestPlace(homes: Homes, loads: Loads, chance: u64): i32 {
    const learned = this.learned;
    const share = this.estimate.share;
    const refill = share * learned.fetchedSeconds + (1 - share) * learned.uncachedSeconds;
    const decode = this.decodeSeconds();
    this.lowest.reset(chance);
    for (let i = 0; i < loads.count; i++) {
      const committed = loads.committed[i] - ownShare(homes, loads.slots[i]);
      const cost =
        learned.uncachedSeconds * loads.pendingPrefill[i] +
        this.estimate.ownSeconds(i, learned) +
        decode * loads.context[i] +
        COMMITTED_PRICE * refill * max(0, committed);
      this.lowest.offer(i, cost);
    }
    return this.lowest.index;
  }

  private follow(
    request: Request,
    homes: Homes,
    loads: Loads,
    nowMs: u64,
    chance: u64,
    decision: Decision,
  ): void {
    const home = this.home;
    this.lowest.reset(chance);
    for (let i = 0; i < loads.count; i++) this.lowest.offer(i, this.followCost(i, loads));
    const gap = this.isBlind ? BLIND_GAP_SECONDS : this.gapSeconds;
    const homeCost = this.followCost(home, loads);
    const stays = this.lowest.cost + gap >= homeCost || this.movedLately(homes, nowMs);
    const isWarm = this.estimate.home != NO_INDEX;
    const row = stays ? home : this.lowest.index;
    const reason = !isWarm ? Reason.Cold : stays ? Reason.Home : Reason.Migrate;
    this.send(row, reason, request, loads, decision);
  }

  private get gapSeconds(): f64 {
    const gap = this.options.moveGapSeconds;
    if (this.options.prefillPool) return gap / 2;
    return this.estimate.share < NO_TIER_SHARE ? 2 * gap : gap;
  }

  private followCost(row: i32, loads: Loads): f64 {
    const learned = this.learned;
    const estimate = this.estimate;
    const work = this.options.prefillPool ? POOL_WORK : FOLLOW_UP_WORK;
    const cost =
      learned.uncachedSeconds * loads.pendingPrefill[row] +
      work * estimate.ownSeconds(row, learned) +
      this.decodeSeconds() * loads.context[row];
    if (row == this.home || !this.scarce) return cost;
    return cost + DISPLACEMENT * (1 - estimate.share) * learned.uncachedSeconds * estimate.prompt;
  }

  /** D: seconds that one context token in flight costs the answers decoded beside it. */
  private decodeSeconds(): f64 {
    const learned = this.learned;
    const price = learned.tpotSum / learned.decodedContextSum;
    return this.options.decodePrice * price * learned.outputTokens;
  }

  private movedLately(homes: Homes, nowMs: u64): bool {
    if (homes.movedMs == 0) return false;
    const age = <f64>nowMs - <f64>homes.movedMs;
    return age < MOVE_WINDOW_MS * (1 - this.estimate.share);
  }

  private send(row: i32, reason: Reason, request: Request, loads: Loads, decision: Decision): void {
    const cached = this.estimate.prompt - this.estimate.uncachedAt(row);
    sendTo(loads.slots[row], reason, request, <u32>cached, decision);
  }
}

/** An endpoint evicts contexts that are asked for again soon after their last use. */
function evictsUsed(loads: Loads, nowMs: u64): bool {
  for (let i = 0; i < loads.count; i++) {
    const horizonMs = loads.horizonMs[i];
    if (horizonMs != 0 && <f64>nowMs - <f64>horizonMs < SCARCE_MS) return true;
  }
  return false;
}

/** What this session itself has committed at the endpoint that served it last. */
function ownShare(homes: Homes, slot: i32): f64 {
  if (homes.count == 0) return 0;
  let latest = 0;
  for (let k = 1; k < homes.count; k++) {
    if (homes.servedMs[k] > homes.servedMs[latest]) latest = k;
  }
  return homes.slots[latest] == slot ? <f64>homes.prefixTokens[latest] : 0;
}
