// SPDX-License-Identifier: Apache-2.0
// What host tests share: the compiled filter in the virtual Envoy, conversations, and the books that must balance.
import assert from "node:assert/strict";
import { buildFilter, type FilterTarget } from "../../cli/build.ts";
import {
  VirtualEnvoy,
  type Observation,
  type VirtualEnvoyOptions,
} from "../../lab/virtual-envoy/index.ts";

export const CHAT_PATH = "/v1/chat/completions";

/** Both builds: the debug module has assertions and bounds checks that the release one lacks. */
export const TARGETS: FilterTarget[] = ["release", "debug"];

export const ENDPOINTS = ["10.0.0.1:8000", "10.0.0.2:8000", "10.0.0.3:8000", "10.0.0.4:8000"];

const OUTCOME_PREFIX = "smetric_streams.outcome.";

export type GatewayOptions = Partial<VirtualEnvoyOptions> & { target?: FilterTarget };

/** A virtual Envoy with the real filter in front of four endpoints. */
export async function startGateway(options: GatewayOptions = {}): Promise<VirtualEnvoy> {
  const { target = "release", ...rest } = options;
  return new VirtualEnvoy({ endpoints: ENDPOINTS, ...rest, wasm: await buildFilter(target) });
}

/** Longer than a tick: what workers have counted is in Envoy's stats then. */
const TICK_MS = 50;

export function settle(envoy: VirtualEnvoy): void {
  envoy.tick(TICK_MS);
}

/** Streams that ended, by outcome; outcomes that did not occur are left out. */
export function outcomes(envoy: VirtualEnvoy): Record<string, number> {
  settle(envoy);
  const counts: Record<string, number> = {};
  for (const [name, value] of Object.entries(envoy.metrics.snapshot())) {
    if (name.startsWith(OUTCOME_PREFIX) && value > 0) {
      counts[name.slice(OUTCOME_PREFIX.length)] = value;
    }
  }
  return counts;
}

/** Sum of all outcomes: must equal the number of streams that ended. */
export function endedStreams(envoy: VirtualEnvoy): number {
  return Object.values(outcomes(envoy)).reduce((sum, count) => sum + count, 0);
}

/** Gauges that are not 0, without those that count things that stay (endpoints). */
export function openGauges(envoy: VirtualEnvoy): Record<string, number> {
  const open: Record<string, number> = {};
  settle(envoy);
  for (const [name, stat] of envoy.metrics.gauges) {
    if (stat.value !== 0n && !/endpoints/.test(name)) open[name] = Number(stat.value);
  }
  return open;
}

/** Nothing is in flight: every gauge of load is back at 0 and every endpoint is free. */
export function assertQuiet(envoy: VirtualEnvoy): void {
  assert.deepEqual(openGauges(envoy), {});
  for (const endpoint of envoy.cluster("llm")?.endpoints ?? []) assert.equal(endpoint.active, 0);
}

/** The VMs are alive and said nothing worse than a warning. */
export function assertNoTrap(envoy: VirtualEnvoy): void {
  const errors = envoy.logs.filter((line) => line.level === "error" || line.level === "critical");
  assert.deepEqual(errors, []);
  for (const worker of envoy.workers) assert.equal(worker.vm.failed, false);
}

/** The record that the filter has left in the filter state of a stream. */
export function recordOf({ filterState }: Observation): object {
  return JSON.parse(String(filterState["wasm.smetric_record"])) as object;
}

export interface Message {
  role: string;
  content: string;
}

/** One agent session as its client sees it: every call carries the whole history. */
export class Conversation {
  readonly messages: Message[] = [];

  constructor(
    readonly name: string,
    system = "You are a careful agent.",
    private readonly extra: object = {},
  ) {
    this.messages.push({ role: "system", content: system });
    this.ask(`Task of ${name}: look at file ${name}.txt`);
  }

  ask(content: string): this {
    this.messages.push({ role: "user", content });
    return this;
  }

  answer(content: string): this {
    this.messages.push({ role: "assistant", content });
    return this;
  }

  /** The model answered and the client asks on. */
  next(step: number): this {
    return this.answer(`Step ${step} of ${this.name} is done.`).ask(`Go on with step ${step + 1}.`);
  }

  body(): string {
    return JSON.stringify({ model: "m", messages: this.messages, ...this.extra });
  }
}

/** Time that passes with an exchange: other workers' copies of shared tables may be a few ms old. */
const EXCHANGE_MS = 20;

/** Sends a conversation as it stands and lets its endpoint answer. */
export function converse(
  envoy: VirtualEnvoy,
  conversation: Conversation,
  options: Parameters<VirtualEnvoy["request"]>[0] = {},
): Observation {
  const seen = envoy.request({ path: CHAT_PATH, body: conversation.body(), ...options });
  envoy.tick(EXCHANGE_MS);
  return seen;
}
