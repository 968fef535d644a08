// SPDX-License-Identifier: Apache-2.0
// The agents of `npm start` on a real Envoy and in virtual time: do both put the arms in the same order?
import { sampleRankCorrelation } from "simple-statistics";
import { demoPlan } from "../../replay/demo.ts";
import type { Driver, ReplayPlan, Watcher } from "../../replay/drivers/driver.ts";
import { type Measures, measure } from "../../replay/measures/measures.ts";
import { markdownTable } from "../markdown.ts";

/** What a real Envoy plays: policies of the filter, and Envoy's own balancers. */
export const AGREEMENT_ARMS: readonly string[] = [
  "priced",
  "sticky",
  "smetric-v2",
  "session-hash",
  "least-request",
  "round-robin",
];

/** Simulated seconds per real one: half of what `npm start` takes, so that two cores keep up with six arms. */
export const AGREEMENT_SPEEDUP = 6;

/** Arms whose share within the objective differs by less have no order. */
const APART = 0.02;
const SILENT: Watcher = { tick() {}, ended() {}, sessionFinished() {} };

/** Share of all tokens that belong to requests within the objective: unlike a rate it does not depend on when a run ends. */
function withinSlo({ tps, tps_slo }: Measures): number {
  return tps_slo / tps;
}

function percent(share: number): string {
  return (100 * share).toFixed(1);
}

/** One arm as either driver played it. */
export interface PlayedTwice {
  arm: string;
  virtual: Measures;
  envoy: Measures;
}

/** Four GPUs, as many agents as keep them busy without driving any arm into collapse. */
export function agreementPlan(): ReplayPlan {
  return demoPlan({ endpoints: 4, sessions: 100, seed: 1 });
}

/** @throws Failure when an arm cannot be played */
export async function playTwice(
  plan: ReplayPlan,
  virtual: Driver,
  envoy: Driver,
  say: (message: string) => void,
  signal: AbortSignal,
): Promise<PlayedTwice[]> {
  const played: PlayedTwice[] = [];
  for (const arm of AGREEMENT_ARMS) {
    const one = async (driver: Driver): Promise<Measures> => {
      const measures = measure(await driver.run(arm, plan, SILENT, signal));
      say(`${arm}, ${driver.name}: ${percent(withinSlo(measures))} % within the SLO`);
      return measures;
    };
    played.push({ arm, virtual: await one(virtual), envoy: await one(envoy) });
  }
  return played;
}

/** How far the order on Envoy is the order in virtual time. */
export interface Agreement {
  /** Pairs of arms that virtual time tells apart, and how many of them have the same order on Envoy. */
  pairs: number;
  agreeing: number;
  /** Spearman's, over all arms, those without an order included. */
  rank_correlation: number;
}

export function agreementOf(played: readonly PlayedTwice[]): Agreement {
  const virtual = played.map((each) => withinSlo(each.virtual));
  const envoy = played.map((each) => withinSlo(each.envoy));
  let pairs = 0;
  let agreeing = 0;
  for (const [better, more] of virtual.entries()) {
    for (const [worse, less] of virtual.entries()) {
      if (more <= less * (1 + APART)) continue;
      pairs++;
      if (envoy[better]! > envoy[worse]!) agreeing++;
    }
  }
  return { pairs, agreeing, rank_correlation: sampleRankCorrelation(virtual, envoy) };
}

function cellsOf(measures: Measures): string[] {
  const { hit_rate, ttft_ms, jct_s } = measures;
  return [
    percent(withinSlo(measures)),
    percent(hit_rate),
    (ttft_ms.p95 / 1000).toFixed(2),
    jct_s.mean.toFixed(0),
  ];
}

/** The section, best arm in virtual time first. */
export function agreementText(played: readonly PlayedTwice[]): string {
  const sorted = [...played].sort((a, b) => withinSlo(b.virtual) - withinSlo(a.virtual));
  const columns = ["in SLO %", "hits %", "TTFT p95 s", "JCT s"];
  const table = markdownTable({
    head: [
      "arm",
      ...columns.map((name) => `virtual: ${name}`),
      ...columns.map((n) => `Envoy: ${n}`),
    ],
    rows: sorted.map(({ arm, virtual, envoy }) => [arm, ...cellsOf(virtual), ...cellsOf(envoy)]),
  });
  const { pairs, agreeing, rank_correlation } = agreementOf(played);
  return `The agents of \`npm start\`, a hundred of them on four GPUs: once with time modelled, once through a real Envoy whose mock GPUs
run ${AGREEMENT_SPEEDUP} times as fast (\`npm run evidence -- --drivers\`). In SLO is the share of tokens whose requests meet the objective. Levels
differ, because agents, Envoy and GPUs share a machine there; what is compared is the order.

${table}

Of ${pairs} pairs of arms that virtual time tells apart by more than two per cent, ${agreeing} have the same order on Envoy; over all arms the
rank correlation is ${rank_correlation.toFixed(2)}.`;
}
