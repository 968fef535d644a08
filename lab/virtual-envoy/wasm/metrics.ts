// SPDX-License-Identifier: Apache-2.0
// Envoy's stats as the guests see them: one atomic per name for all VMs, never reset by a reload.

const HISTOGRAM_SAMPLES_KEPT = 4096;

/** Counters and gauges: unsigned 64 bits that wrap, as atomics do. */
export class Stat {
  private bits = 0n;

  get value(): bigint {
    return this.bits;
  }

  add(amount: bigint): void {
    this.bits = BigInt.asUintN(64, this.bits + amount);
  }

  set(value: bigint): void {
    this.bits = BigInt.asUintN(64, value);
  }
}

/** Count and sum of all samples, and the most recent ones themselves. */
export class Histogram {
  count = 0;
  sum = 0;
  readonly samples: number[] = [];

  record(value: bigint): void {
    this.samples[this.count % HISTOGRAM_SAMPLES_KEPT] = Number(value);
    this.count += 1;
    this.sum += Number(value);
  }
}

export class Metrics {
  readonly counters = new Map<string, Stat>();
  readonly gauges = new Map<string, Stat>();
  readonly histograms = new Map<string, Histogram>();

  counter(name: string): Stat {
    return named(this.counters, name, () => new Stat());
  }

  gauge(name: string): Stat {
    return named(this.gauges, name, () => new Stat());
  }

  histogram(name: string): Histogram {
    return named(this.histograms, name, () => new Histogram());
  }

  /** Value of a counter or gauge by name, 0 when it was never defined. Exact below 2^53. */
  read(name: string): number {
    return Number((this.counters.get(name) ?? this.gauges.get(name))?.value ?? 0n);
  }

  /** All counters and gauges by name. */
  snapshot(): Record<string, number> {
    const values: Record<string, number> = {};
    for (const [name, stat] of [...this.counters, ...this.gauges])
      values[name] = Number(stat.value);
    return values;
  }
}

function named<T>(map: Map<string, T>, name: string, create: () => T): T {
  let value = map.get(name);
  if (value === undefined) map.set(name, (value = create()));
  return value;
}
