// SPDX-License-Identifier: Apache-2.0
// What affinity remembers of a conversation, and of one that branches, repeats or breaks.
import { Reading } from "../../../assembly/request/request";
import { aWorker, START_MS, Talk, Worker } from "./worlds";

const NOW: u64 = START_MS;

function servedTalk(worker: Worker, first: u64, turns: i32, slot: i32): Talk {
  const talk = new Talk(first);
  for (let turn = 1; turn <= turns; turn++) {
    worker.serve(talk, slot, NOW + <u64>turn * 1_000);
    if (turn < turns) talk.step(first + <u64>turn * 1_000 + 1, first + <u64>turn * 1_000 + 2);
  }
  return talk;
}

describe("affinity", () => {
  it("knows nothing of a first turn", () => {
    const worker = aWorker();
    worker.enroll("10.0.0.1:8000", NOW);
    const homes = worker.find(new Talk(1), NOW);
    expect(homes.count).toBe(0);
    expect(homes.verifiedTurn).toBe(1);
    expect(homes.seenTokens).toBe(0);
  });

  it("leads every follow-up of 300 turns to its endpoint, verified, within the budget", () => {
    const worker = aWorker();
    worker.enroll("10.0.0.1:8000", NOW);
    const slot = worker.enroll("10.0.0.2:8000", NOW);
    const talk = new Talk(1);
    worker.serve(talk, slot, NOW);
    for (let turn = 2; turn <= 300; turn++) {
      talk.step(<u64>turn * 10, <u64>turn * 10 + 1);
      worker.store.resetCounts();
      worker.serve(talk, slot, NOW + <u64>turn);
      expect(worker.homes.count).toBe(1);
      expect(worker.homes.slots[0]).toBe(slot);
      expect(worker.homes.verifiedTurn).toBe(turn);
      // All but what the client said last.
      expect(worker.homes.prefixTokens[0]).toBe(worker.request.promptTokens - 100);
      expect(worker.store.reads).toBeLessThanOrEqual(2);
      expect(worker.store.writes).toBeLessThanOrEqual(1);
    }
  });

  it("keeps at least half of the prefix for a branch at any depth", () => {
    const worker = aWorker();
    const slot = worker.enroll("10.0.0.1:8000", NOW);
    const turns = 100;
    const talk = servedTalk(worker, 1, turns, slot);
    for (let runs = 1; runs < turns; runs++) {
      const homes = worker.find(talk.fork(runs, 424_242), NOW + 200_000);
      const shared: u32 = 1_000 + <u32>runs * 200;
      expect(homes.count).toBe(1, "branch after " + runs.toString());
      expect(homes.prefixTokens[0] * 2).toBeGreaterThanOrEqual(shared, runs.toString());
    }
  });

  it("stores nothing for what is ambiguous, broken or no conversation", () => {
    const worker = aWorker();
    const slot = worker.enroll("10.0.0.1:8000", NOW);
    const before = worker.store.shared.values.size;
    const talk = new Talk(1);
    talk.ambiguous = true;
    worker.serve(talk, slot, NOW);
    talk.ambiguous = false;
    talk.reading = Reading.Malformed;
    worker.serve(talk, slot, NOW);
    talk.reading = Reading.Open;
    worker.serve(talk, slot, NOW);
    talk.reading = Reading.Prompt;
    worker.serve(talk, slot, NOW);
    expect(worker.store.shared.values.size).toBe(before);
  });

  it("keeps a session of any length at about half a kilobyte", () => {
    const worker = aWorker(64);
    const slot = worker.enroll("10.0.0.1:8000", NOW);
    const before = worker.store.shared.bytes;
    servedTalk(worker, 1, 36, slot);
    const rows = (worker.store.shared.bytes - before) / 64;
    expect(rows).toBeLessThanOrEqual(14);
  });
});
