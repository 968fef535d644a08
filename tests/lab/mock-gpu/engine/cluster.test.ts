// SPDX-License-Identifier: Apache-2.0
// Many engines on one clock.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Cluster } from "../../../../lab/mock-gpu/engine/cluster.ts";
import { Log, smallEngine, tokens } from "./workbench.ts";

test("engines of a cluster act in the order of time, and sinks may submit to another one", () => {
  const cluster = new Cluster([smallEngine(), smallEngine()]);
  const log = new Log();
  const next = { id: "c", prompt: { tokens: tokens(5, 3) }, outputTokens: 1, sink: log.sink };
  cluster.submit(
    0,
    { id: "a", prompt: { tokens: tokens(12) }, outputTokens: 1, sink: log.sink },
    0,
  );
  cluster.submit(
    1,
    {
      id: "b",
      prompt: { tokens: tokens(4) },
      outputTokens: 1,
      sink: { ...log.sink, end: (_, nowMs) => void cluster.submit(0, next, nowMs) },
    },
    0,
  );
  assert.equal(cluster.nextEventMs(), 0);
  cluster.advance(1000);
  // c arrives at 14, while the step of a runs until 22.
  assert.deepEqual(log.events, ["b@14", "a@22", "a done@22", "c@37", "c done@37"]);
  assert.equal(cluster.nextEventMs(), Infinity);
});

test("a request cannot arrive before what is still due", () => {
  const engine = smallEngine();
  const init = { prompt: { tokens: tokens(4) }, outputTokens: 1 };
  engine.submit(init, 0);
  assert.throws(() => engine.submit(init, 20), /Advance the engine to 20 ms/);
  engine.advance(20);
  engine.submit(init, 20);
});

test("an engine that a cluster does not have is an error", () => {
  assert.throws(() => new Cluster([]).engine(0), RangeError);
});
