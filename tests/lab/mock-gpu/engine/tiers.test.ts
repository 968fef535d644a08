// SPDX-License-Identifier: Apache-2.0
// Slower KV tiers: when a block is there, how long it takes, who waits for whom, and what is dropped.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BandwidthPipe } from "../../../../lab/mock-gpu/engine/bandwidth-pipe.ts";
import { blockHashes, hashSeed } from "../../../../lab/mock-gpu/engine/block-hash.ts";
import { Cluster } from "../../../../lab/mock-gpu/engine/cluster.ts";
import { KvTier, type KvTierOptions } from "../../../../lab/mock-gpu/engine/kv-tier.ts";
import { type RetentionOptions } from "../../../../lab/mock-gpu/engine/options.ts";
import { drain, smallEngine, tokens } from "./workbench.ts";

/** A block of four tokens is 4,000 bytes: 1 ms at 4e-3 GB/s. */
const SLOW: KvTierOptions = {
  name: "store",
  capacityTokens: 4000,
  blockTokens: 4,
  bytesPerToken: 1000,
  readGbPerS: 4e-3,
  setupMs: 2,
};

function hashesOf(count: number, salt = 1): Float64Array {
  return blockHashes(tokens(count * 4, salt), count * 4, 4, hashSeed());
}

test("a link serves one transfer after the other, and its setup overlaps", () => {
  const link = new BandwidthPipe(1e-3, 5); // 1,000 bytes a millisecond.
  assert.equal(link.reserve(10_000, 0), 15);
  assert.equal(link.reserve(10_000, 0), 25);
  assert.equal(link.backlogMs(0), 20);
  assert.equal(link.reserve(10_000, 100), 115);
  assert.equal(link.bytes, 30_000);
  assert.equal(new BandwidthPipe(0, 0).estimate(1, 0), Infinity);
});

test("a block is in the tier when its write has ended, not before", () => {
  const tier = new KvTier(SLOW);
  const hashes = hashesOf(10);
  tier.write(hashes, 0, 10, 0); // 2 + 10 ms.
  assert.equal(tier.countPrefix(hashes, 0, 10, 11.9), 0);
  assert.equal(tier.countPrefix(hashes, 0, 10, 12), 10);
  assert.equal(tier.countPrefix(hashes, 4, 10, 12), 6);
  tier.write(hashes, 0, 10, 20);
  assert.equal(tier.writtenBytes, 40_000);
});

test("reads of all engines queue on one pipe", () => {
  const tier = new KvTier(SLOW);
  const hashes = hashesOf(10);
  tier.write(hashes, 0, 10, 0);
  assert.equal(tier.countPrefix(hashes, 0, 10, 100), 10);
  assert.equal(tier.read(hashes, 0, 10, 100), 112);
  assert.equal(tier.estimateRead(10, 100), 122);
  assert.equal(tier.read(hashes, 0, 5, 100), 117);
  assert.equal(tier.readBytes, 60_000);
});

test("the tier is finite: the least recently used blocks go, tails first", () => {
  const tier = new KvTier({ ...SLOW, capacityTokens: 40 });
  const [one, two] = [hashesOf(6, 1), hashesOf(6, 2)];
  tier.write(one, 0, 6, 0);
  tier.write(two, 0, 6, 1000);
  assert.equal(tier.countPrefix(two, 0, 6, 2000), 6);
  assert.equal(tier.countPrefix(one, 0, 6, 2000), 4);
  assert.equal(tier.evictions, 2);
});

test("writes that would come too late are dropped", () => {
  const tier = new KvTier({ ...SLOW, maxWriteBacklogMs: 10 });
  tier.write(hashesOf(8, 1), 0, 8, 0);
  tier.write(hashesOf(8, 2), 0, 8, 0);
  assert.equal(tier.droppedBlocks, 8);
  assert.equal(tier.countPrefix(hashesOf(8, 2), 0, 8, 1000), 0);
});

test("another engine fetches what was computed elsewhere, by the clock of the pipe", () => {
  const tier = new KvTier(SLOW);
  const [first, second] = [smallEngine({ tiers: [tier] }), smallEngine({ tiers: [tier] })];
  const cluster = new Cluster([first, second]);
  cluster.submit(0, { id: "a", prompt: { tokens: tokens(41) }, outputTokens: 1 }, 0);
  drainCluster(cluster);
  const again = cluster.submit(1, { prompt: { tokens: tokens(41) }, outputTokens: 1 }, 1000);
  drainCluster(cluster);
  // Ten blocks fetched: 2 + 10 ms; then a step for the one token that is left: 10 + 1 ms.
  assert.equal(again.cachedTokens, 40);
  assert.equal(again.fetchedTokens, 40);
  assert.equal(again.localTokens, 0);
  assert.equal(again.computedTokens, 1);
  assert.equal(again.firstTokenMs, 1000 + 12 + 11);
  assert.equal(again.fetchMs, 12);
});

test("others run while one waits for its fetch", () => {
  const tier = new KvTier({ ...SLOW, readGbPerS: 4e-4, writeGbPerS: 1 });
  const engine = smallEngine({ tiers: [tier], fetch: "always" });
  engine.submit({ prompt: { tokens: tokens(41) }, outputTokens: 1 }, 0);
  drain(engine);
  engine.clearCache();
  engine.advance(1000);
  const fetching = engine.submit({ prompt: { tokens: tokens(41) }, outputTokens: 1 }, 1000);
  const other = engine.submit({ prompt: { tokens: tokens(8, 2) }, outputTokens: 2 }, 1000);
  drain(engine);
  assert.equal(other.endMs, 1000 + 18 + 12);
  assert.equal(fetching.firstTokenMs, 1000 + 102 + 11);
});

test("a fetch that is slower than computing is not made", () => {
  const tier = new KvTier({ ...SLOW, readGbPerS: 1e-4, writeGbPerS: 1 });
  const engine = smallEngine({ tiers: [tier] });
  engine.submit({ prompt: { tokens: tokens(41) }, outputTokens: 1 }, 0);
  drain(engine);
  engine.clearCache();
  engine.advance(1000);
  const again = engine.submit({ prompt: { tokens: tokens(41) }, outputTokens: 1 }, 1000);
  drain(engine);
  assert.equal(again.fetchedTokens, 0);
  assert.equal(again.computedTokens, 41);
});

test("the nearest tier is asked first, the local cache before it", () => {
  const host = new KvTier({ ...SLOW, name: "host", readGbPerS: 1, setupMs: 0 });
  const store = new KvTier(SLOW);
  const engine = smallEngine({ tiers: [host, store] });
  engine.submit({ prompt: { tokens: tokens(41) }, outputTokens: 1 }, 0);
  drain(engine);
  const local = engine.submit({ prompt: { tokens: tokens(41) }, outputTokens: 1 }, 1000);
  drain(engine);
  assert.equal(local.fetchedTokens, 0);
  engine.clearCache();
  const fetched = engine.submit({ prompt: { tokens: tokens(41) }, outputTokens: 1 }, 2000);
  drain(engine);
  assert.equal(fetched.fetchedTokens, 40);
  assert.equal(host.readBytes, 40_000);
  assert.equal(store.readBytes, 0);
});

interface Wait {
  /** Tokens hit locally and fetched when the session comes back after others have used the memory. */
  hit: number;
  fetched: number;
}

/** A session of ten blocks waits for a tool while two others pass through an engine of 24 blocks. */
function waitFor(policy: RetentionOptions["policy"], others: number): Wait {
  const tier = new KvTier({ ...SLOW, readGbPerS: 1 });
  const engine = smallEngine({
    kvTokens: 96,
    tiers: policy === "offload" ? [tier] : [],
    retention: { policy, keepMs: 60_000 },
  });
  const run = (salt: number, endsInWait: boolean, nowMs: number): Wait => {
    engine.advance(nowMs);
    const prompt = { tokens: tokens(41, salt) };
    const request = engine.submit({ prompt, outputTokens: 1, endsInWait }, nowMs);
    drain(engine);
    return { hit: request.localTokens, fetched: request.fetchedTokens };
  };
  run(1, true, 0);
  for (let i = 0; i < others; i++) run(2 + i, false, 1000 * (i + 1));
  return run(1, true, 30_000);
}

test("by default a waiting session loses its KV to those who need the memory", () => {
  assert.deepEqual(waitFor("lru", 0), { hit: 40, fetched: 0 });
  assert.deepEqual(waitFor("lru", 3), { hit: 0, fetched: 0 });
});

test("a kept session finds all of it again", () => {
  assert.deepEqual(waitFor("keep", 3), { hit: 40, fetched: 0 });
});

test("an offloaded session gets it back from the tier, a dropped one computes it again", () => {
  assert.deepEqual(waitFor("offload", 0), { hit: 0, fetched: 40 });
  assert.deepEqual(waitFor("offload", 3), { hit: 0, fetched: 40 });
  assert.deepEqual(waitFor("drop", 0), { hit: 0, fetched: 0 });
});

test("kept sessions give way when a prompt would not fit otherwise", () => {
  const engine = smallEngine({ kvTokens: 96, retention: { policy: "keep", keepMs: 1e9 } });
  const submit = (salt: number, length: number): void => {
    engine.submit(
      { prompt: { tokens: tokens(length, salt) }, outputTokens: 1, endsInWait: true },
      salt * 1000,
    );
    drain(engine);
  };
  submit(1, 41);
  submit(2, 41);
  submit(3, 90);
  assert.equal(engine.counters.done, 3);
});

function drainCluster(cluster: Cluster): void {
  while (cluster.nextEventMs() < Infinity) cluster.advance(cluster.nextEventMs());
}

test("offloading to nowhere is refused", () => {
  assert.throws(() => smallEngine({ retention: { policy: "offload" } }), /needs a tier/);
});
