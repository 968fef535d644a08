// SPDX-License-Identifier: Apache-2.0
// A registry per GPU: values are read from the engine when somebody asks, ends of requests are observed.
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { type ServedRequest } from "../engine/request.ts";

/** One number of a finished request; null leaves it out. */
export type Observation = (request: ServedRequest) => number | null;

/** A hundred GPUs in one process do not share a registry, which prom-client would do by default. */
export class MetricRegistry {
  private readonly registry = new Registry();
  private readonly observers: { histogram: Histogram; read: Observation }[] = [];

  constructor(
    private readonly prefix: string,
    labels: Record<string, string>,
  ) {
    this.registry.setDefaultLabels(labels);
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }

  observe(request: ServedRequest): void {
    for (const { histogram, read } of this.observers) {
      const value = read(request);
      if (value !== null && Number.isFinite(value)) histogram.observe(value);
    }
  }

  gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      ...this.named(name, help),
      collect() {
        this.set(read());
      },
    });
  }

  /** The engine counts; the registry only shows it. */
  counter(name: string, help: string, read: () => number): void {
    new Counter({
      ...this.named(name, help),
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  }

  labelledCounter<L extends string>(name: string, help: string, label: L): Counter<L> {
    return new Counter({ ...this.named(name, help), labelNames: [label] });
  }

  info(name: string, help: string, labels: Record<string, string | number>): void {
    new Gauge({ ...this.named(name, help), labelNames: Object.keys(labels) }).set(labels, 1);
  }

  histogram(name: string, help: string, buckets: number[], read: Observation): void {
    const histogram = new Histogram({ ...this.named(name, help), buckets });
    this.observers.push({ histogram, read });
  }

  private named(name: string, help: string): { name: string; help: string; registers: Registry[] } {
    return { name: `${this.prefix}:${name}`, help, registers: [this.registry] };
  }
}
