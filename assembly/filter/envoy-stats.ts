// SPDX-License-Identifier: Apache-2.0
// The counters of the filter as Envoy stats.
import { addStat, defineStat, recordStat, StatType } from "../host/stats";
import { StatSink } from "../metrics/meters";


@final
export class EnvoyStatSink extends StatSink {
  counter(name: string): u32 {
    return defineStat(StatType.Counter, name);
  }

  gauge(name: string): u32 {
    return defineStat(StatType.Gauge, name);
  }

  histogram(name: string): u32 {
    return defineStat(StatType.Histogram, name);
  }

  add(id: u32, amount: i64): void {
    addStat(id, amount);
  }

  sample(id: u32, value: u64): void {
    recordStat(id, value);
  }
}
