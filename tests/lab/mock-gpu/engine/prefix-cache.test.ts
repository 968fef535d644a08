// SPDX-License-Identifier: Apache-2.0
// The prefix cache: whole blocks, chained hashes, LRU with tails first, recompute after preemption.
import assert from "node:assert/strict";
import { test } from "node:test";
import { blockHashes, hashSeed } from "../../../../lab/mock-gpu/engine/block-hash.ts";
import { type Engine } from "../../../../lab/mock-gpu/engine/engine.ts";
import { type EngineRequest, type RequestInit } from "../../../../lab/mock-gpu/engine/request.ts";
import { drain, smallEngine, tokens } from "./workbench.ts";

function run(engine: Engine, init: Omit<RequestInit, "outputTokens">, output = 1): EngineRequest {
  const nowMs = Math.max(lastEnd.get(engine) ?? 0, 0);
  const request = engine.submit({ outputTokens: output, ...init }, nowMs);
  lastEnd.set(engine, drain(engine));
  return request;
}
const lastEnd = new WeakMap<Engine, number>();

test("only whole blocks are hit, and the last prompt token is always computed", () => {
  const engine = smallEngine();
  run(engine, { prompt: { tokens: tokens(11) } });
  assert.equal(run(engine, { prompt: { tokens: tokens(11) } }).cachedTokens, 8);
  assert.equal(run(engine, { prompt: { tokens: tokens(12) } }).cachedTokens, 8);
  assert.equal(run(engine, { prompt: { tokens: tokens(12) } }).cachedTokens, 8);
  assert.equal(run(engine, { prompt: { tokens: tokens(13) } }).cachedTokens, 12);
});

test("generated tokens are cached when their ids are known, all but the last one", () => {
  const engine = smallEngine();
  const answer = tokens(5, 9);
  run(engine, { prompt: { tokens: tokens(8) }, outputTokenIds: answer }, 5);
  const next = [...tokens(8), ...answer, ...tokens(10, 3)];
  // 8 + 4 computed output tokens fill three blocks; the fifth was never run through the model.
  assert.equal(run(engine, { prompt: { tokens: next } }).cachedTokens, 12);
});

test("without output ids the blocks that hold output are never hit", () => {
  const engine = smallEngine();
  run(engine, { prompt: { tokens: tokens(6) } }, 8);
  const next = [...tokens(6), ...tokens(20, 3)];
  assert.equal(run(engine, { prompt: { tokens: next } }).cachedTokens, 4);
});

test("a different salt or adapter shares nothing", () => {
  const engine = smallEngine();
  run(engine, { prompt: { tokens: tokens(16), cacheSalt: "one" } });
  assert.equal(run(engine, { prompt: { tokens: tokens(16) } }).cachedTokens, 0);
  assert.equal(run(engine, { prompt: { tokens: tokens(16), cacheSalt: "two" } }).cachedTokens, 0);
  assert.equal(run(engine, { prompt: { tokens: tokens(16), adapter: "one" } }).cachedTokens, 0);
  assert.equal(run(engine, { prompt: { tokens: tokens(16), cacheSalt: "one" } }).cachedTokens, 12);
});

test("a change in the first block loses everything behind it", () => {
  const engine = smallEngine();
  run(engine, { prompt: { tokens: tokens(16) } });
  const changed = tokens(16);
  changed[0] = 7;
  assert.equal(run(engine, { prompt: { tokens: changed } }).cachedTokens, 0);
});

test("two equal prompts in the same step share what the first one computes", () => {
  const engine = smallEngine({ maxBatchedTokens: 64 });
  const requests = ["a", "b"].map((id) =>
    engine.submit({ id, prompt: { tokens: tokens(18) }, outputTokens: 1 }, 0),
  );
  drain(engine);
  assert.deepEqual(
    requests.map(({ cachedTokens }) => cachedTokens),
    [0, 16],
  );
});

test("the least recently used prefix is evicted, its tail first", () => {
  // Ten blocks of four tokens.
  const engine = smallEngine({ kvTokens: 40 });
  run(engine, { prompt: { tokens: tokens(17, 1) } }); // Four full blocks of 1, one block unnamed.
  run(engine, { prompt: { tokens: tokens(17, 2) } }); // The unnamed block and four fresh ones.
  // The unnamed block, the last fresh one, and then the tail of 1.
  run(engine, { prompt: { tokens: tokens(9, 3) } });
  assert.equal(run(engine, { prompt: { tokens: tokens(17, 2) } }).cachedTokens, 16);
  assert.ok(run(engine, { prompt: { tokens: tokens(17, 1) } }).cachedTokens < 16);
});

test("ready-made block hashes hit exactly like tokens", () => {
  const byTokens = smallEngine();
  const byHashes = smallEngine();
  const all = tokens(40);
  for (const length of [10, 22, 39]) {
    const a = run(byTokens, { prompt: { tokens: all.slice(0, length) } });
    const hashes = blockHashes(all, length, 4, hashSeed());
    const b = run(byHashes, { prompt: { blockHashes: hashes, promptTokens: length } });
    assert.equal(b.cachedTokens, a.cachedTokens);
    assert.equal(b.endMs, a.endMs);
  }
});

test("under memory pressure the last running request is preempted and computed again", () => {
  // Six blocks: two prompts of 8 tokens take four, their outputs want more than the two that are left.
  const engine = smallEngine({ kvTokens: 24, reserveFullPrompt: false });
  const a = engine.submit({ id: "a", prompt: { tokens: tokens(8, 1) }, outputTokens: 9 }, 0);
  const b = engine.submit({ id: "b", prompt: { tokens: tokens(8, 2) }, outputTokens: 9 }, 0);
  drain(engine);
  assert.equal(a.preemptions, 0);
  assert.equal(b.preemptions, 1);
  assert.equal(engine.counters.preemptions, 1);
  assert.ok(a.endMs < b.endMs);
  assert.equal(b.generated, 9);
  assert.ok(b.recomputedTokens > 0);
});

test("with priorities the least urgent request is the victim, not the last", () => {
  const engine = smallEngine({ kvTokens: 24, scheduling: "priority" });
  const submit = (id: string, priority: number, salt: number): EngineRequest =>
    engine.submit({ id, prompt: { tokens: tokens(8, salt) }, outputTokens: 9, priority }, 0);
  const bulk = submit("bulk", 9, 1);
  const urgent = submit("urgent", 0, 2);
  drain(engine);
  assert.equal(bulk.preemptions, 1);
  assert.equal(urgent.preemptions, 0);
});

test("a prompt is admitted only when all of it fits", () => {
  const engine = smallEngine({ kvTokens: 40 });
  const a = engine.submit({ id: "a", prompt: { tokens: tokens(24, 1) }, outputTokens: 8 }, 0);
  const b = engine.submit({ id: "b", prompt: { tokens: tokens(24, 2) }, outputTokens: 1 }, 0);
  drain(engine);
  assert.ok(b.firstScheduledMs >= a.endMs);
  assert.equal(a.preemptions + b.preemptions, 0);
});

test("with prefix caching off nothing is ever hit", () => {
  const engine = smallEngine({ prefixCaching: false });
  run(engine, { prompt: { tokens: tokens(16) } });
  assert.equal(run(engine, { prompt: { tokens: tokens(16) } }).cachedTokens, 0);
});

test("blocks that nobody can hit are handed out before cached ones, however young", () => {
  // Ten blocks: the second prompt's unnamed block is used again instead of evicting the first prompt.
  const engine = smallEngine({ kvTokens: 40 });
  run(engine, { prompt: { tokens: tokens(17, 1) } }); // Four named, one not.
  run(engine, { prompt: { tokens: tokens(17, 2) } }); // The unnamed one again, and four more.
  run(engine, { prompt: { tokens: tokens(5, 3) } }); // One named, one not: both still free.
  assert.equal(engine.evictions, 0);
});
