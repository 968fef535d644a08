// SPDX-License-Identifier: Apache-2.0
// The same requests to a real vLLM and to the mock GPU: cached tokens agree to the block.
import assert from "node:assert/strict";
import { test } from "node:test";
import { startMockGpu } from "../../lab/mock-gpu/http/server.ts";
import { startRealEngine } from "./vllm/engine.ts";

const BLOCK_TOKENS = 128;
/** Small enough that the sessions below evict each other: 31 blocks are usable. */
const BLOCKS = 32;
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
    Array.from({ length: count }, () => 300 + Math.floor(chance() * (VOCABULARY - 300)));
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

test("a real vLLM and the mock find the same tokens in their prefix caches", async () => {
  const real = await startRealEngine(BLOCKS, BLOCK_TOKENS);
  const mock = await startMockGpu({
    preset: "8b-h100",
    speedup: 100,
    model: "mock",
    blockTokens: BLOCK_TOKENS,
    kvTokens: (BLOCKS - 1) * BLOCK_TOKENS,
  });
  try {
    const before = await counter(real.url, "vllm:prefix_cache_queries_total");
    let hits = 0;
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
      hits += expected;
      learn(ids);
    }
    assert.ok(hits > 0 && mock.engine.evictions > 0, "the load must hit and must evict");
    for (const name of ["queries", "hits"]) {
      const metric = `vllm:prefix_cache_${name}_total`;
      const warmUp = name === "queries" ? before : 0;
      assert.equal(
        await counter(mock.url, metric),
        (await counter(real.url, metric)) - warmUp,
        metric,
      );
    }
  } finally {
    await mock.close();
    await real.stop();
  }
});
