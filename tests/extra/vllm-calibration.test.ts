// SPDX-License-Identifier: Apache-2.0
// The same requests to a real vLLM and to the mock GPU: cached tokens agree to the block, preemptions to the count.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Engine } from "../../lab/mock-gpu/engine/engine.ts";
import { startMockGpu } from "../../lab/mock-gpu/http/server.ts";
import { type RealEngine, startRealEngine } from "./vllm/engine.ts";

const BLOCK_TOKENS = 128;
/** Small enough that the sessions below evict each other: 31 blocks are usable. */
const BLOCKS = 32;
const BATCHED_TOKENS = 2048;
const ENGINE = {
  preset: "8b-h100" as const,
  blockTokens: BLOCK_TOKENS,
  kvTokens: (BLOCKS - 1) * BLOCK_TOKENS,
  maxBatchedTokens: BATCHED_TOKENS,
  maxSequences: 16,
};
const REQUESTS = 60;
const VOCABULARY = 8000;

interface Completion {
  choices: { token_ids?: number[] }[];
  usage: {
    prompt_tokens: number;
    completion_tokens: number;
    prompt_tokens_details?: { cached_tokens?: number } | null;
  };
}

function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state / 0x7fffffff;
  };
}

/** No special token and no byte of the tokenizer. */
function freshToken(chance: () => number): number {
  return 300 + Math.floor(chance() * (VOCABULARY - 300));
}

async function complete(url: string, body: Record<string, unknown>): Promise<Completion> {
  const reply = await fetch(`${url}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "mock", temperature: 0, ...body }),
  });
  assert.equal(reply.status, 200, await reply.clone().text());
  return (await reply.json()) as Completion;
}

async function counter(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split("\n").find((candidate) => candidate.startsWith(`${name}{`));
  assert.ok(line, `${name} is missing`);
  return Number(line.split(" ").pop());
}

/** Six sessions that share a head, grow, are resumed in any order, and now and then lose their tail. */
function* conversation(
  chance: () => number,
): Generator<{ prompt: number[]; output: number; learn: (ids: number[]) => void }> {
  const fresh = (count: number): number[] =>
    Array.from({ length: count }, () => freshToken(chance));
  const head = fresh(200);
  const sessions = Array.from({ length: 6 }, () => [...head, ...fresh(100)]);
  for (let i = 0; i < REQUESTS; i++) {
    const session = sessions[Math.floor(chance() * sessions.length)] as number[];
    if (chance() < 0.1) session.length = Math.floor(session.length * 0.6);
    if (session.length > 1400) session.length = 300;
    session.push(...fresh(20 + Math.floor(chance() * 150)));
    const output = 1 + Math.floor(chance() * 40);
    yield { prompt: [...session], output, learn: (ids) => void session.push(...ids) };
  }
}

let real: RealEngine;
before(async () => {
  real = await startRealEngine(BLOCKS, BLOCK_TOKENS, [
    ...["--max-num-batched-tokens", String(BATCHED_TOKENS)],
  ]);
});
after(() => real.stop());

/** What the real engine's counters say more than before. */
async function watch(names: string[]): Promise<() => Promise<number[]>> {
  const read = (): Promise<number[]> =>
    Promise.all(names.map((name) => counter(real.url, `vllm:${name}_total`)));
  const start = await read();
  return async () => (await read()).map((value, i) => value - (start[i] ?? 0));
}

test("a real vLLM and the mock find the same tokens in their prefix caches", async () => {
  const mock = await startMockGpu({ ...ENGINE, speedup: 100, model: "mock" });
  try {
    const counted = await watch(["prefix_cache_queries", "prefix_cache_hits"]);
    for (const { prompt, output, learn } of conversation(random(7))) {
      const limits = { prompt, max_tokens: output, ignore_eos: true };
      const truth = await complete(real.url, { ...limits, return_token_ids: true });
      const ids = truth.choices[0]?.token_ids ?? [];
      assert.equal(ids.length, output);
      const ours = await complete(mock.url, { ...limits, mock_output_token_ids: ids });
      const expected = truth.usage.prompt_tokens_details?.cached_tokens ?? 0;
      assert.equal(ours.usage.prompt_tokens_details?.cached_tokens ?? 0, expected);
      assert.equal(ours.usage.prompt_tokens, truth.usage.prompt_tokens);
      assert.equal(ours.usage.completion_tokens, truth.usage.completion_tokens);
      learn(ids);
    }
    const { queriedTokens, hitTokens } = mock.engine.counters;
    assert.ok(hitTokens > 0 && mock.engine.evictions > 0, "the load must hit and must evict");
    assert.deepEqual([queriedTokens, hitTokens], await counted());
  } finally {
    await mock.close();
  }
});

/** Names of the fields of an object and of what lies in it, those that are null marked. */
function shape(value: unknown, path = ""): string[] {
  if (Array.isArray(value)) return value.length === 0 ? [path] : shape(value[0], `${path}[]`);
  if (value === null) return [`${path}?`];
  if (typeof value !== "object") return [path];
  return Object.entries(value).flatMap(([key, inner]) => shape(inner, `${path}.${key}`));
}

/** Every field that the real engine fills is there, and no field that it does not know. */
function assertSameShape(ours: unknown, truth: unknown, what: string): void {
  const [mine, real] = [shape(ours), shape(truth)];
  const names = (list: string[]): Set<string> => new Set(list.map((name) => name.replace("?", "")));
  for (const name of real)
    if (!name.endsWith("?")) assert.ok(mine.includes(name), `${what}: ${name}`);
  for (const name of names(mine)) assert.ok(names(real).has(name), `${what} has no ${name}`);
}

function eventsOf(text: string): unknown[] {
  const data = text.split("\n").filter((line) => line.startsWith("data: "));
  return data.map(
    (line) => (line.endsWith("[DONE]") ? "done" : JSON.parse(line.slice(6))) as unknown,
  );
}

const BODIES: [string, Record<string, unknown>][] = [
  ["/v1/chat/completions", { messages: [{ role: "user", content: "hello" }] }],
  ["/v1/completions", { prompt: "hello" }],
  ["/v1/messages", { messages: [{ role: "user", content: "hello" }] }],
];

for (const [path, body] of BODIES) {
  test(`${path} answers in the fields of the real engine, whole and streamed`, async () => {
    const mock = await startMockGpu({ ...ENGINE, model: "mock", reportCreatedTokens: true });
    const ask = async (url: string, stream: boolean): Promise<string> => {
      const limits = { max_tokens: 4, ignore_eos: true, stream };
      const options = stream && path !== "/v1/messages" ? { include_usage: true } : undefined;
      const reply = await fetch(url + path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model: "mock", ...body, ...limits, stream_options: options }),
      });
      const text = await reply.text();
      assert.equal(reply.status, 200, text);
      return text;
    };
    try {
      const [ours, truth] = [await ask(mock.url, false), await ask(real.url, false)];
      assertSameShape(JSON.parse(ours), JSON.parse(truth), "whole");
      const [mine, theirs] = [
        eventsOf(await ask(mock.url, true)),
        eventsOf(await ask(real.url, true)),
      ];
      // How many pieces of text there are is a matter of timing; how a stream starts and ends is not.
      const same: [unknown, unknown][] = [0, -1, -2].map((i) => [mine.at(i), theirs.at(i)]);
      for (const [a, b] of same) assertSameShape(a, b, `streamed ${JSON.stringify(b)}`);
    } finally {
      await mock.close();
    }
  });
}

/** Requests, prompt tokens and output tokens of batches that want more blocks than there are. */
const CROWDS: [number, number, number][] = [
  [6, 500, 600],
  [8, 300, 500],
  [4, 900, 400],
  [3, 1000, 900],
];

for (const [count, promptTokens, outputTokens] of CROWDS) {
  test(`${count} times ${promptTokens} + ${outputTokens} tokens preempt as often in both`, async () => {
    const chance = random(count);
    const prompt = Array.from({ length: count }, () =>
      Array.from({ length: promptTokens }, () => freshToken(chance)),
    );
    const counted = await watch(["num_preemptions", "prefix_cache_queries", "prefix_cache_hits"]);
    await complete(real.url, { prompt, max_tokens: outputTokens, ignore_eos: true });
    const engine = new Engine(ENGINE);
    for (const tokens of prompt) engine.submit({ prompt: { tokens }, outputTokens }, 0);
    engine.advance(1e9);
    const { preemptions, queriedTokens, hitTokens } = engine.counters;
    assert.ok(preemptions > 0, "the batch must not fit");
    assert.deepEqual([preemptions, queriedTokens, hitTokens], await counted());
  });
}
