// SPDX-License-Identifier: Apache-2.0
// Beliefs that answers confirmed lately: a report that contradicts them says nothing of the endpoint's cache.
import { MAX_SLOTS } from "./roster";

/** A confirmation speaks for its endpoint this long. */
const PROOF_MS: u64 = 60_000;
/** Contradicting reports in a row after which the endpoint is believed to have lost its cache (a restart). */
const ENOUGH_REPORTS: u8 = 3;

/**
 * Engines evict what was idle for longest. A belief that fails although an older one at the same endpoint has just
 * held was not evicted: that client's prompts never match (a nonce in its system text), and taking it for an
 * eviction would make everybody else there look cold. One per fleet and VM; nothing is shared.
 */
export class Proofs {
  /** Per endpoint: time of the oldest belief confirmed lately, and when it was. */
  private believedMs: StaticArray<u64> = new StaticArray<u64>(MAX_SLOTS);
  private provenMs: StaticArray<u64> = new StaticArray<u64>(MAX_SLOTS);
  private contradictions: StaticArray<u8> = new StaticArray<u8>(MAX_SLOTS);
  /** When the first of these contradictions came. */
  private contradictedMs: StaticArray<u64> = new StaticArray<u64>(MAX_SLOTS);

  /** A belief from `believedMs` held. */
  confirm(slot: i32, believedMs: u64, nowMs: u64): void {
    if (slot < 0 || slot >= MAX_SLOTS) return;
    this.contradictions[slot] = 0;
    if (this.holds(slot, nowMs) && believedMs > this.believedMs[slot]) return;
    this.believedMs[slot] = believedMs;
    this.provenMs[slot] = nowMs;
  }

  /**
   * A belief from `believedMs` failed. Answers since when the endpoint is believed to hold nothing that was not used,
   * ms; 0 = the failure says nothing of others. After a restart that is all that was served before the first failure.
   */
  emptyBefore(slot: i32, believedMs: u64, nowMs: u64): u64 {
    if (slot < 0 || slot >= MAX_SLOTS) return 0;
    if (!this.holds(slot, nowMs) || this.believedMs[slot] > believedMs) return believedMs;
    if (this.contradictions[slot]++ == 0) this.contradictedMs[slot] = nowMs;
    if (this.contradictions[slot] < ENOUGH_REPORTS) return 0;
    this.contradictions[slot] = 0;
    this.provenMs[slot] = 0;
    const contradictedMs = this.contradictedMs[slot];
    // When something was served is remembered in whole seconds.
    return max(believedMs, contradictedMs - (contradictedMs % 1_000) - 1);
  }

  private holds(slot: i32, nowMs: u64): bool {
    const proven = this.provenMs[slot];
    return proven != 0 && nowMs < proven + PROOF_MS;
  }
}
