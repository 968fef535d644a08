// SPDX-License-Identifier: Apache-2.0
// What admission believes of each endpoint, as gauges for the operator.
import { defineStat, NO_STAT, recordStat, StatType } from "../host/stats";
import { Admission } from "../scheduling/admission/admission";
import { MAX_SLOTS } from "../scheduling/admission/endpoints";

/** What is shown of an endpoint. */
export enum AdmissionGauge {
  /** KV tokens that the endpoint is measured, or given, to hold. */
  Capacity = 0,
  /** Tokens that resident sessions may take at the moment. */
  Window = 1,
  /** Tokens of the sessions that count as resident. */
  Resident = 2,
}

const KINDS: i32 = 3;

/** Stat names of the gauges, before `.fleet.<cluster>.slot.<n>`. */
function admissionGaugeName(kind: AdmissionGauge): string {
  switch (kind) {
    case AdmissionGauge.Capacity:
      return "smetric_capacity_tokens";
    case AdmissionGauge.Window:
      return "smetric_window_tokens";
    default:
      return "smetric_resident_tokens";
  }
}

/** One per fleet and VM. All workers write the same shared belief, so it does not matter who writes last. */
@final
export class AdmissionGauges {
  private readonly ids: StaticArray<u32> = new StaticArray<u32>(MAX_SLOTS * KINDS);

  constructor(private readonly cluster: string) {
    memory.fill(changetype<usize>(this.ids), 0xff, (<usize>(MAX_SLOTS * KINDS)) << 2);
  }

  /** Writes what is known now; called twice a second at most. */
  publish(admission: Admission): void {
    const endpoints = admission.endpoints;
    for (let slot = 0; slot < endpoints.end; slot++) {
      if (!endpoints.isKnown(slot)) continue;
      const endpoint = endpoints.view(slot);
      this.write(AdmissionGauge.Capacity, slot, endpoint.capacity.tokens);
      this.write(AdmissionGauge.Window, slot, endpoint.window.tokens);
      this.write(AdmissionGauge.Resident, slot, endpoint.stack.residentTokens);
    }
  }

  private write(kind: AdmissionGauge, slot: i32, tokens: f64): void {
    const index = slot * KINDS + <i32>kind;
    let id = this.ids[index];
    if (id == NO_STAT) {
      const name = admissionGaugeName(kind) + ".fleet." + this.cluster + ".slot." + slot.toString();
      id = defineStat(StatType.Gauge, name);
      this.ids[index] = id;
    }
    // Before the first evidence the capacity is without bound: that is no number to show.
    const shown = isFinite(tokens) && tokens > 0 && tokens < 1e12;
    recordStat(id, shown ? <u64>tokens : 0);
  }
}
