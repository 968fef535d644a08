// SPDX-License-Identifier: Apache-2.0
// The engine's steps against schedules worked out by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineRefusal } from "../../../../lab/mock-gpu/engine/engine.ts";
import { PRESETS, stepMs } from "../../../../lab/mock-gpu/engine/step-cost.ts";
import { drain, Log, smallEngine, tokens } from "./workbench.ts";

test("a lone request is prefilled in one step and then decoded token by token", () => {
  const engine = smallEngine();
  const log = new Log();
  engine.submit({ id: "a", prompt: { tokens: tokens(8) }, outputTokens: 3, sink: log.sink }, 0);
  drain(engine);
  // 10 + 8 for the prefill, then 10 + 2 twice.
  assert.deepEqual(log.events, ["a@18", "a@30", "a@42", "a done@42"]);
});

test("a prompt longer than the token budget is prefilled in chunks", () => {
  const engine = smallEngine();
  const log = new Log();
  engine.submit({ id: "a", prompt: { tokens: tokens(40) }, outputTokens: 1, sink: log.sink }, 0);
  drain(engine);
  // Chunks of 16, 16 and 8 tokens: 26 + 26 + 18.
  assert.deepEqual(log.events, ["a@70", "a done@70"]);
  assert.equal(engine.counters.steps, 3);
});

test("requests that arrive together share the first step", () => {
  const engine = smallEngine();
  const log = new Log();
  for (const id of ["a", "b"]) {
    const prompt = { tokens: tokens(6, id.charCodeAt(0)) };
    engine.submit({ id, prompt, outputTokens: 2, sink: log.sink }, 5);
  }
  drain(engine);
  assert.deepEqual(log.events, ["a@27", "b@27", "a@41", "a done@41", "b@41", "b done@41"]);
});

test("prefill competes with decode: a newcomer slows down the tokens of those that run", () => {
  const engine = smallEngine();
  const log = new Log();
  engine.submit({ id: "a", prompt: { tokens: tokens(4) }, outputTokens: 4, sink: log.sink }, 0);
  engine.advance(14);
  engine.submit(
    { id: "b", prompt: { tokens: tokens(20, 2) }, outputTokens: 1, sink: log.sink },
    20,
  );
  drain(engine);
  /*
   * 0-14 prefill a; 14-26 decode a (b arrives meanwhile); 26-53 decode a + 15 tokens of b: 10+2+15;
   * 53-70 decode a + the last 5 of b: 10+2+5.
   */
  assert.deepEqual(log.events, ["a@14", "a@26", "a@53", "a@70", "a done@70", "b@70", "b done@70"]);
});

test("a running prefill is served before a waiting one", () => {
  const engine = smallEngine();
  const log = new Log();
  engine.submit({ id: "a", prompt: { tokens: tokens(24) }, outputTokens: 1, sink: log.sink }, 0);
  engine.submit({ id: "b", prompt: { tokens: tokens(8, 2) }, outputTokens: 1, sink: log.sink }, 0);
  drain(engine);
  // 16 of a; then 8 of a and 8 of b in one step.
  assert.deepEqual(log.events, ["a@52", "a done@52", "b@52", "b done@52"]);
});

test("no more than maxSequences run, and a waiting urgent request preempts nobody", () => {
  const engine = smallEngine({ maxSequences: 1, scheduling: "priority" });
  const log = new Log();
  const submit = (id: string, priority: number, nowMs: number): void => {
    const prompt = { tokens: tokens(4, id.charCodeAt(0)) };
    engine.submit({ id, prompt, outputTokens: 3, priority, sink: log.sink }, nowMs);
  };
  submit("slow", 5, 0);
  engine.advance(10);
  submit("later", 5, 10);
  submit("urgent", -5, 11);
  drain(engine);
  const ends = log.events.filter((event) => event.includes("done"));
  assert.deepEqual(
    ends.map((event) => event.split(" ")[0]),
    ["slow", "urgent", "later"],
  );
  assert.equal(engine.counters.preemptions, 0);
});

test("the longest-chunk rule leaves budget for others", () => {
  const engine = smallEngine({ longPrefillTokens: 8 });
  const log = new Log();
  engine.submit({ id: "long", prompt: { tokens: tokens(16) }, outputTokens: 1, sink: log.sink }, 0);
  engine.submit({ id: "b", prompt: { tokens: tokens(8, 2) }, outputTokens: 1, sink: log.sink }, 0);
  drain(engine);
  assert.deepEqual(log.events, ["b@26", "b done@26", "long@44", "long done@44"]);
});

test("high numbers go first where the engine sorts like SGLang", () => {
  const engine = smallEngine({ maxSequences: 1, scheduling: "priority", highPriorityFirst: true });
  const order: string[] = [];
  for (const [id, priority] of [
    ["low", 1],
    ["high", 9],
  ] as const) {
    const prompt = { tokens: tokens(4, id.length) };
    const sink = { end: () => order.push(id) };
    engine.submit({ id, prompt, outputTokens: 1, priority, sink }, 0);
  }
  drain(engine);
  assert.deepEqual(order, ["high", "low"]);
});

test("a priority is refused where requests are served first come first served", () => {
  const engine = smallEngine();
  const submit = (priority: number) => () =>
    engine.submit({ prompt: { tokens: tokens(4) }, outputTokens: 1, priority }, 0);
  assert.throws(
    submit(1),
    (error) => error instanceof EngineRefusal && error.code === "priority-off",
  );
  assert.doesNotThrow(submit(0));
});

test("a prompt that cannot fit is refused", () => {
  const engine = smallEngine({ maxModelTokens: 20 });
  const submit = (length: number) => () =>
    engine.submit({ prompt: { tokens: tokens(length) }, outputTokens: 4 }, 0);
  assert.throws(submit(17), (error) => error instanceof EngineRefusal && error.code === "too-long");
  assert.doesNotThrow(submit(16));
});

test("an aborted request ends once, frees its blocks and disturbs no one", () => {
  const engine = smallEngine();
  const log = new Log();
  const prompt = { tokens: tokens(8) };
  const a = engine.submit({ id: "a", prompt, outputTokens: 9, sink: log.sink }, 0);
  const other = { tokens: tokens(4, 2) };
  engine.submit({ id: "b", prompt: other, outputTokens: 2, sink: log.sink }, 0);
  engine.advance(25);
  engine.abort(a, 25);
  engine.abort(a, 26);
  drain(engine);
  // The step that was under way (22 to 36) keeps its length.
  assert.deepEqual(log.events, ["a@22", "b@22", "a aborted@25", "b@36", "b done@36"]);
  assert.equal(engine.kvUsage, 0);
});

test("a sink may submit the next request at the very moment the last one ends", () => {
  const engine = smallEngine();
  const log = new Log();
  const second = { id: "b", prompt: { tokens: tokens(4, 2) }, outputTokens: 1, sink: log.sink };
  engine.submit(
    {
      id: "a",
      prompt: { tokens: tokens(4) },
      outputTokens: 1,
      sink: { end: (_, nowMs) => void engine.submit(second, nowMs) },
    },
    0,
  );
  drain(engine);
  assert.deepEqual(log.events, ["b@28", "b done@28"]);
});

test("the step law has all five terms", () => {
  const work = { prefillTokens: 3, prefillPairs: 5, decodeSequences: 7, decodeContextTokens: 11 };
  const cost = {
    baseMs: 1,
    prefillTokenMs: 10,
    prefillPairMs: 100,
    decodeSequenceMs: 1000,
    decodeContextTokenMs: 10000,
  };
  assert.equal(stepMs(cost, work), 1 + 30 + 500 + 7000 + 110000);
});

test("a cold prompt of 32,768 tokens takes seconds, as the published rates say", () => {
  const coldMs = (preset: keyof typeof PRESETS): number => {
    const n = 32_768;
    const { cost } = PRESETS[preset];
    return cost.prefillTokenMs * n + cost.prefillPairMs * (n * n) * 0.5;
  };
  assert.ok(coldMs("8b-h100") > 700 && coldMs("8b-h100") < 1300);
  assert.ok(coldMs("30b-a3b-h20") > 1500 && coldMs("30b-a3b-h20") < 2500);
  assert.ok(coldMs("8b-a100") > 2 * coldMs("8b-h100"));
  assert.ok(coldMs("70b-tp4-h100") > 2 * coldMs("8b-h100"));
});
