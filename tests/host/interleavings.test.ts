// SPDX-License-Identifier: Apache-2.0
// Random orders of everything that can happen: nothing traps, every stream is counted once, all gauges return to 0.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom, type Random } from "../../lab/virtual-envoy/random.ts";
import type { Stream, VirtualEnvoy } from "../../lab/virtual-envoy/index.ts";
import {
  assertNoTrap,
  assertQuiet,
  CHAT_PATH,
  Conversation,
  ENDPOINTS,
  endedStreams,
  startGateway,
  TARGETS,
} from "./harness.ts";

const SEEDS = 12;
const STEPS = 600;

/** Longest silence that the watchdog and the fleet need to settle, ms. */
const SETTLE_MS = 10_000;

const PATHS = [CHAT_PATH, CHAT_PATH, CHAT_PATH, "/v1/completions", "/v1/models", "/"];

const ANSWERS = [
  'data: {"choices":[{"delta":{"content":"hi"}}]}\n\n',
  'data: {"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":4}}}\n\n',
  "data: [DONE]\n\n",
  '{"usage":{"prompt_tokens":100000000000,"completion_tokens":-5}}',
  "\0\xff{{{",
];

interface Live {
  stream: Stream;
  rest: string;
}

/** One random world: streams begin, trickle, stall, answer, break and leave in any order. */
class Storm {
  private live: Live[] = [];
  private started = 0;

  constructor(
    private readonly envoy: VirtualEnvoy,
    private readonly random: Random,
  ) {}

  step(): void {
    const { random, envoy } = this;
    const action = random.below(12);
    if (action <= 2) this.begin();
    else if (action === 3) envoy.tick(random.below(400));
    else if (action === 4) this.trouble();
    else this.poke(action);
    this.live = this.live.filter(({ stream }) => !stream.ended);
  }

  /** Ends what is still open. */
  finish(): number {
    for (const endpoint of ENDPOINTS) this.envoy.endpoint(endpoint).health = "healthy";
    for (const { stream } of this.live) stream.abort();
    this.envoy.tick(SETTLE_MS);
    return this.started;
  }

  private begin(): void {
    const { random } = this;
    const conversation = new Conversation(`s${random.below(8)}`);
    for (let turn = 1; turn <= random.below(5); turn++) conversation.next(turn);
    const body = random.below(6) === 0 ? "]nonsense" : conversation.body();
    const stream = this.envoy.openStream({
      path: PATHS[random.below(PATHS.length)]!,
      protocol: random.below(2) === 0 ? "http1" : "http2",
      headers: random.below(2) === 0 ? { "content-length": String(body.length) } : {},
      end: random.below(10) === 0,
    });
    this.started += 1;
    this.live.push({ stream, rest: body });
  }

  private poke(action: number): void {
    const { random } = this;
    const chosen = this.live[random.below(this.live.length)];
    if (chosen === undefined) return;
    const { stream } = chosen;
    const size = 1 + random.below(chosen.rest.length + 1);
    const part = chosen.rest.slice(0, size);
    if (action <= 7) {
      chosen.rest = chosen.rest.slice(size);
      stream.sendChunk(part, chosen.rest === "" && random.below(2) === 0);
      if (chosen.rest === "" && random.below(3) === 0) stream.end({ "x-sum": "1" });
    } else if (action === 8) stream.respondHeaders([200, 200, 429, 503][random.below(4)]!);
    else if (action === 9) stream.respondChunk(ANSWERS[random.below(ANSWERS.length)]!);
    else if (action === 10) stream.respondEnd();
    else if (random.below(2) === 0) stream.abort();
    else stream.resetUpstream();
  }

  private trouble(): void {
    const endpoint = this.envoy.endpoint(ENDPOINTS[this.random.below(4)]!);
    endpoint.health = this.random.below(2) === 0 ? "healthy" : "unhealthy";
    endpoint.reachable = this.random.below(4) !== 0;
  }
}

const CHAINS = ["pin", "filter_state", "wasm_only"] as const;

function pick<T>(random: Random, list: readonly T[]): T {
  return list[random.below(list.length)]!;
}

/** Any combination of options: each must survive what the others allow. */
function randomConfiguration(random: Random): object {
  return {
    policy: pick(random, [
      ...["priced", "sticky", "smetric-v1", "smetric-v2"],
      ...["lmetric", "agentix", "session-hash", "least-request"],
    ]),
    steering: pick(random, ["pin", "override-host", "hash", "filter-state"]),
    mode: pick(random, ["route", "route", "observe"]),
    tier: pick(random, ["auto", "none", "full"]),
    first_turn: pick(random, ["priced", "least-request"]),
    record: random.below(2) === 0,
    expose_decision: random.below(2) === 0,
    trust_agent_headers: random.below(2) === 0,
    affinity_sessions: 256,
    hold_cap_bytes: pick(random, [65_536, 1_048_576]),
  };
}

function storm(envoy: VirtualEnvoy, seed: number): void {
  const world = new Storm(envoy, seededRandom(seed));
  for (let step = 0; step < STEPS; step++) world.step();
  const started = world.finish();
  assertNoTrap(envoy);
  assert.equal(endedStreams(envoy), started);
  assert.equal(envoy.open, 0);
  assertQuiet(envoy);
}

/** Fills shared values with bytes that no reader expects. */
function spoil(envoy: VirtualEnvoy, random: Random): void {
  for (const key of envoy.sharedData.keys("smetric")) {
    const size = random.below(3) === 0 ? 0 : random.below(3000);
    const bytes = Uint8Array.from({ length: size }, () => random.below(256));
    envoy.sharedData.set("smetric", key, bytes, 0);
  }
}

for (const target of TARGETS) {
  describe(`Random interleavings in the ${target} module`, () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      it(`survives storm ${seed}`, async () => {
        const random = seededRandom(seed);
        const workers = 1 + random.below(3);
        const chain = pick(random, CHAINS);
        const configuration = randomConfiguration(random);
        const flag = random.below(5) !== 0;
        const envoy = await startGateway({
          ...{ target, workers, seed, configuration, chain, flag },
          trace: false,
        });
        storm(envoy, seed);
      });
    }

    it("survives garbage in every shared value and goes on", async () => {
      const random = seededRandom(99);
      const envoy = await startGateway({ target, workers: 2, trace: false });
      for (let round = 0; round < 40; round++) {
        for (let index = 0; index < 10; index++) {
          const conversation = new Conversation(`s${index}`).next(1);
          envoy.request({ path: CHAT_PATH, body: conversation.body() });
        }
        envoy.tick(random.below(3000));
        spoil(envoy, random);
      }
      envoy.tick(SETTLE_MS);
      assertNoTrap(envoy);
      assert.equal(endedStreams(envoy), 400);
    });
  });
}
