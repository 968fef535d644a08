// SPDX-License-Identifier: Apache-2.0
// The gauges of one fleet as Envoy stats: process-wide atomics, so all workers add to the same number.
import { addStat, defineStat, NO_STAT, readStat, recordStat, StatType } from "../host/stats";
import { GaugeKind, Gauges } from "../memory/shared-store";

/** Stat names of the gauges, before `.fleet.<cluster>.slot.<n>`. */
function gaugeName(kind: GaugeKind): string {
  switch (kind) {
    case GaugeKind.InFlight:
      return "smetric_in_flight";
    case GaugeKind.PendingPrefill:
      return "smetric_pending_prefill_tokens";
    default:
      return "smetric_context_tokens";
  }
}

/** Idle time of the context that an endpoint was last found to have evicted: what idles for longer counts as gone. */
const EVICTED: string = "smetric_evicted_idle_seconds";


@final
export class EnvoyGauges extends Gauges {
  private readonly evictedIds: StaticArray<u32>;

  constructor(
    private readonly cluster: string,
    slots: i32,
  ) {
    super(slots);
    this.evictedIds = new StaticArray<u32>(slots);
    memory.fill(changetype<usize>(this.evictedIds), 0xff, (<usize>slots) << 2);
  }

  /** All workers see the same horizon: it does not matter who writes last. */
  showEvicted(slot: i32, idleSeconds: u64): void {
    let id = this.evictedIds[slot];
    if (id == NO_STAT) {
      id = defineStat(StatType.Gauge, this.nameOf(EVICTED, slot));
      this.evictedIds[slot] = id;
    }
    recordStat(id, idleSeconds);
  }

  protected define(kind: GaugeKind, slot: i32): u32 {
    return defineStat(StatType.Gauge, this.nameOf(gaugeName(kind), slot));
  }

  private nameOf(gauge: string, slot: i32): string {
    return gauge + ".fleet." + this.cluster + ".slot." + slot.toString();
  }

  protected addTo(id: u32, change: i64): void {
    addStat(id, change);
  }

  protected valueOf(id: u32): u64 {
    return readStat(id);
  }
}
