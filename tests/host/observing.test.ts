// SPDX-License-Identifier: Apache-2.0
// What observing counts of traffic that nobody steers: follow-ups that missed their prefix, and whom admission would hold.
import assert from "node:assert/strict";
import { it } from "node:test";
import type { Observation, VirtualEnvoy } from "../../lab/virtual-envoy/index.ts";
import {
  assertNoTrap,
  CHAT_PATH,
  Conversation,
  converse,
  ENDPOINTS,
  recordOf,
  settle,
  startGateway,
} from "./harness.ts";

interface LogRecord {
  time_ms: number;
  duration_ms: number | null;
  prefix_tokens: number;
  prompt_tokens: number;
  reported_prompt_tokens: number | null;
  head: string;
  head_tokens: number;
  model: string;
  pinned: boolean;
}

const SESSIONS = 6;
const TURNS = 4;
const SYSTEM = "You work in a team. ".repeat(200);

/** Round robin takes every follow-up of a session to the next endpoint. */
async function startObserver(configuration: object): Promise<VirtualEnvoy> {
  return startGateway({
    configuration: { mode: "observe", record: true, ...configuration },
    clusters: [{ name: "llm", endpoints: ENDPOINTS, policy: "round_robin" }],
    chain: "wasm_only",
  });
}

function answerOf(promptTokens: number, cachedTokens: number): object {
  const usage = {
    prompt_tokens: promptTokens,
    completion_tokens: 4,
    total_tokens: promptTokens + 4,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
  const choices = [{ message: { role: "assistant", content: "a" }, finish_reason: "stop" }];
  return {
    headers: { "content-type": "application/json" },
    chunks: [JSON.stringify({ choices, usage })],
  };
}

function logRecordOf(seen: Observation): LogRecord {
  return recordOf(seen) as LogRecord;
}

function counterOf(envoy: VirtualEnvoy, name: string): number {
  settle(envoy);
  return envoy.metrics.snapshot()[name] ?? 0;
}

/** One session after the other; every answer reports that many cached tokens. */
function play(envoy: VirtualEnvoy, cachedTokens: number): LogRecord[] {
  const records: LogRecord[] = [];
  for (let index = 0; index < SESSIONS; index++) {
    const session = new Conversation(`session ${index}`, SYSTEM);
    for (let turn = 1; turn <= TURNS; turn++) {
      const response = answerOf(1_000 + turn, cachedTokens);
      records.push(logRecordOf(converse(envoy, session, { response })));
      session.next(turn);
    }
  }
  return records;
}

it("counts follow-ups that went to a cold endpoint, and the tokens that were computed again", async () => {
  const envoy = await startObserver({});
  const records = play(envoy, 100);
  assert.equal(counterOf(envoy, "smetric_cold_follow_ups"), SESSIONS * (TURNS - 1));
  const lost = records.map(({ prefix_tokens, reported_prompt_tokens }) =>
    Math.max(0, Math.min(prefix_tokens, reported_prompt_tokens ?? Infinity) - 100),
  );
  assert.equal(
    counterOf(envoy, "smetric_recomputed_tokens"),
    lost.reduce((sum, tokens) => sum + tokens, 0),
  );
  assert.equal(counterOf(envoy, "smetric_pins.result.set"), 0);
  assertNoTrap(envoy);
});

it("counts nothing as computed again that the endpoint found all the same, as with a global tier", async () => {
  const envoy = await startObserver({});
  const found = play(envoy, 1_000).length * 1_000;
  assert.ok(counterOf(envoy, "smetric_recomputed_tokens") < found / 100, "estimates apart");
});

it("counts neither where the follow-ups go home", async () => {
  const envoy = await startGateway({ configuration: { record: true } });
  const records = play(envoy, 900);
  assert.equal(counterOf(envoy, "smetric_cold_follow_ups"), 0);
  assert.equal(counterOf(envoy, "smetric_recomputed_tokens"), 0);
  assert.equal(records.filter(({ pinned }) => pinned).length, SESSIONS * (TURNS - 1));
});

it("counts whom admission would hold, by its dry run", async () => {
  const admission = { enabled: true, dry_run: true, capacity_tokens: 1_500 };
  const envoy = await startObserver({ admission });
  const response = answerOf(1_000, 0);
  // Envoy finds the endpoints first; then twice as many sessions run at once as fit.
  for (const name of ENDPOINTS) converse(envoy, new Conversation(name, SYSTEM), { response });
  const open = Array.from({ length: ENDPOINTS.length * 2 }, (_, index) => {
    const body = new Conversation(`session ${index}`, SYSTEM).body();
    const stream = envoy.send({ path: CHAT_PATH, body, response: false });
    // Observing, the filter learns from the head of the answer who serves a request.
    stream.respondHeaders(200, { "content-type": "application/json" });
    return stream;
  });
  assert.ok(counterOf(envoy, "smetric_admission.result.would_hold") > 0);
  assert.equal(counterOf(envoy, "smetric_admission.result.held"), 0);
  assert.equal(open.filter(({ info }) => info.endpoint !== undefined).length, open.length);
  assertNoTrap(envoy);
});

/** Sum of a counter's bands, by band. */
function byTurns(envoy: VirtualEnvoy, name: string): Record<string, number> {
  settle(envoy);
  const prefix = `${name}.turns.`;
  const bands = Object.entries(envoy.metrics.snapshot())
    .filter(([stat, value]) => stat.startsWith(prefix) && value > 0)
    .map(([stat, value]) => [stat.slice(prefix.length), value] as const);
  return Object.fromEntries(bands);
}

for (const mode of ["observe", "route"])
  it(`${mode}: counts prompt tokens and cached tokens by turn as engines report them`, async () => {
    const envoy = await startGateway({ configuration: { mode, record: true } });
    play(envoy, 900);
    assert.deepEqual(byTurns(envoy, "smetric_reported_prompt_tokens"), {
      "1": SESSIONS * 1_001,
      "2_to_3": SESSIONS * (1_002 + 1_003),
      "4_to_7": SESSIONS * 1_004,
    });
    assert.deepEqual(byTurns(envoy, "smetric_cached_tokens"), {
      "1": SESSIONS * 900,
      "2_to_3": SESSIONS * 1_800,
      "4_to_7": SESSIONS * 900,
    });
  });

it("counts no prompt tokens as reported where the engines never tell what was cached", async () => {
  const envoy = await startObserver({});
  const usage = { prompt_tokens: 1_000, completion_tokens: 4, total_tokens: 1_004 };
  const choices = [{ message: { role: "assistant", content: "a" }, finish_reason: "stop" }];
  const response = {
    headers: { "content-type": "application/json" },
    chunks: [JSON.stringify({ choices, usage })],
  };
  for (let index = 0; index < SESSIONS; index++) {
    converse(envoy, new Conversation(`session ${index}`, SYSTEM), { response });
  }
  assert.deepEqual(byTurns(envoy, "smetric_reported_prompt_tokens"), {});
  assert.deepEqual(byTurns(envoy, "smetric_cached_tokens"), {});
});

it("records when a request began, what the engine counted, and which head it shares", async () => {
  const envoy = await startObserver({});
  const records = play(envoy, 100);
  for (const [index, record] of records.entries()) {
    assert.equal(record.reported_prompt_tokens, 1_001 + (index % TURNS));
    assert.ok(record.duration_ms !== null && record.duration_ms >= 0);
    assert.ok(record.head_tokens > 0 && record.head_tokens < record.prompt_tokens);
    assert.equal(record.head, records[0]?.head);
    assert.match(record.model, /^[0-9a-f]{16}$/);
    assert.equal(record.pinned, false);
  }
});

it("shows what answers taught as gauges", async () => {
  const envoy = await startObserver({});
  play(envoy, 100);
  settle(envoy);
  // Whole documents teach nothing of speed: the prices are those to begin with.
  assert.equal(envoy.metrics.read("smetric_uncached_token_ns"), 100_000);
  assert.equal(envoy.metrics.read("smetric_fetched_token_ns"), 30_000);
  assert.equal(envoy.metrics.read("smetric_decode_context_token_ps"), 30_000);
  assert.ok(envoy.metrics.read("smetric_tier_returned_permille") > 0);
});
