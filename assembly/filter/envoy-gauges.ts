// SPDX-License-Identifier: Apache-2.0
// The gauges of one fleet as Envoy stats: process-wide atomics, so all workers add to the same number.
import { addStat, defineStat, readStat, StatType } from "../host/stats";
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


@final
export class EnvoyGauges extends Gauges {
  constructor(
    private readonly cluster: string,
    slots: i32,
  ) {
    super(slots);
  }

  protected define(kind: GaugeKind, slot: i32): u32 {
    const name = gaugeName(kind) + ".fleet." + this.cluster + ".slot." + slot.toString();
    return defineStat(StatType.Gauge, name);
  }

  protected addTo(id: u32, change: i64): void {
    addStat(id, change);
  }

  protected valueOf(id: u32): u64 {
    return readStat(id);
  }
}
