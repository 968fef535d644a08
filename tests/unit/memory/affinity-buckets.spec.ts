// SPDX-License-Identifier: Apache-2.0
// All boundaries of a conversation in one bucket: what that costs, and what becomes of openings that many share.
import { mix } from "../../../assembly/hash/mix";
import { Homes } from "../../../assembly/memory/homes";
import { MAX_SLOTS } from "../../../assembly/memory/roster";
import { SharedGauges, SharedValues } from "./memory-store";
import { aWorker, START_MS, Talk, Worker } from "./worlds";

const NOW: u64 = START_MS;
const SECOND: u64 = 1_000;
const MINUTE: u64 = 60_000;
/** Where a value keeps the minute in which a row of it spilled last. */
const NOTE_BYTE: i32 = 10;

/** A conversation that so many begin like. */
function common(index: i32, turns: i32): Talk {
  const talk = new Talk(1);
  for (let turn = 1; turn < turns; turn++) talk.step(mix(index * 100 + turn), mix(turn));
  return talk;
}

/** Two turns of that many conversations that begin alike, and part with the first answer. */
function crowd(worker: Worker, count: i32, slot: i32): Talk[] {
  const talks: Talk[] = [];
  for (let i = 0; i < count; i++) {
    worker.serve(common(i, 1), slot, NOW + <u64>i * 10);
    const talk = common(i, 2);
    worker.serve(talk, slot, NOW + <u64>i * 10 + 5);
    talks.push(talk);
  }
  return talks;
}

function countKnown(worker: Worker, talks: Talk[], nowMs: u64): i32 {
  let known = 0;
  for (let i = 0; i < talks.length; i++) {
    const turn = talks[i].turn + 1;
    talks[i].step(mix(i + 7), 9);
    const homes = worker.find(talks[i], nowMs);
    if (homes.count > 0 && homes.verifiedTurn == turn) known++;
  }
  return known;
}

function twoWorkersFor(sessions: i32): Worker[] {
  const shared = new SharedValues();
  const gauges = new SharedGauges(MAX_SLOTS);
  return [new Worker(shared, gauges, sessions), new Worker(shared, gauges, sessions)];
}

describe("a conversation that lies in one bucket", () => {
  it("is found with one read, and learned with one write, at every turn", () => {
    const worker = aWorker();
    const slot = worker.enroll("10.0.0.1:8000", NOW);
    const talk = new Talk(1);
    for (let turn: u64 = 1; turn <= 70; turn++) {
      const nowMs = NOW + turn * SECOND;
      worker.store.resetCounts();
      const homes = worker.find(talk, nowMs);
      expect(worker.store.reads).toBe(1);
      expect(worker.store.writes).toBe(0);
      worker.affinity.learn(worker.request, worker.fleet, homes, slot, nowMs);
      expect(worker.store.reads).toBe(1);
      expect(worker.store.writes).toBe(1);
      talk.step(turn * 10, turn * 10 + 1);
    }
  });

  it("costs no more when nobody knows its long history", () => {
    const worker = aWorker();
    const slot = worker.enroll("10.0.0.1:8000", NOW);
    const talk = common(3, 200);
    worker.store.resetCounts();
    const homes = worker.find(talk, NOW);
    expect(homes.count).toBe(0);
    expect(worker.store.reads).toBe(1);
    worker.affinity.learn(worker.request, worker.fleet, homes, slot, NOW);
    expect(worker.store.reads).toBe(1);
    expect(worker.store.writes).toBe(1);
    expect(worker.find(talk.step(1, 2), NOW + SECOND).count).toBe(1);
  });

  it("is judged and counted there too", () => {
    const worker = aWorker();
    const slot = worker.enroll("10.0.0.1:8000", NOW);
    worker.serve(new Talk(1), slot, NOW);
    worker.serve(new Talk(1), slot, NOW);
    const homes = worker.find(new Talk(1).step(2, 3), NOW);
    expect(homes.shared).toBe(true);
    worker.store.resetCounts();
    worker.affinity.reserve(homes, worker.fleet, slot);
    expect(homes.reserved).toBe(slot);
    expect(worker.store.writes).toBe(1);
    worker.affinity.learn(worker.request, worker.fleet, homes, slot, NOW);
    worker.affinity.judge(homes, false);
    expect(worker.store.reads).toBe(2);
    expect(worker.store.writes).toBe(3);
  });

  it("is learned as a whole when another worker writes in between", () => {
    const turns: u64 = 12;
    for (let conflicts = 0; conflicts < 4; conflicts++) {
      const worker = aWorker(1);
      const calm = aWorker(1);
      const slot = worker.enroll("10.0.0.1:8000", NOW);
      calm.enroll("10.0.0.1:8000", NOW);
      const talk = new Talk(1);
      for (let turn: u64 = 1; turn <= turns; turn++) {
        calm.serve(talk, slot, NOW + turn * SECOND);
        worker.store.conflicts = conflicts;
        worker.serve(talk, slot, NOW + turn * SECOND);
        talk.step(turn * 10, turn * 10 + 1);
      }
      expect(worker.store.shared.bytes).toBe(calm.store.shared.bytes);
      const homes = worker.find(talk, NOW + MINUTE);
      expect(homes.verifiedTurn).toBe(<i32>turns + 1);
      expect(homes.dropKey).toBe(calm.find(talk, NOW + MINUTE).dropKey);
    }
  });

  it("loses nothing to a worker that writes between its look-up and its answer", () => {
    const workers = twoWorkersFor(1);
    const slot = workers[0].enroll("10.0.0.1:8000", NOW);
    workers[1].enroll("10.0.0.1:8000", NOW);
    const one = new Talk(1);
    const two = new Talk(2);
    for (let turn: u64 = 1; turn <= 20; turn++) {
      const nowMs = NOW + turn * SECOND;
      workers[0].find(one, nowMs);
      workers[1].find(two, nowMs);
      expect(workers[0].homes.verifiedTurn).toBe(<i32>turn);
      expect(workers[1].homes.verifiedTurn).toBe(<i32>turn);
      for (let i = 1; i >= 0; i--) {
        const worker = workers[i];
        worker.affinity.learn(worker.request, worker.fleet, worker.homes, slot, nowMs);
      }
      one.step(turn * 10, turn * 10 + 1);
      two.step(turn * 10, turn * 10 + 1);
    }
  });
});

describe("a bucket that was kept for the answer", () => {
  it("is read again where there are more requests under way than are kept", () => {
    const worker = aWorker();
    const slot = worker.enroll("10.0.0.1:8000", NOW);
    const homes: Homes[] = [];
    for (let i = 0; i < 200; i++) {
      const found = new Homes();
      new Talk(500 + i).fill(worker.request);
      worker.affinity.find(worker.request, worker.fleet, found, NOW);
      homes.push(found);
    }
    worker.store.resetCounts();
    for (let i = 0; i < 200; i++) {
      new Talk(500 + i).fill(worker.request);
      worker.affinity.learn(worker.request, worker.fleet, homes[i], slot, NOW);
    }
    expect(worker.store.reads).toBeGreaterThan(100);
    expect(worker.store.reads).toBeLessThan(180);
    for (let i = 0; i < 200; i++) {
      expect(worker.find(new Talk(500 + i).step(1, 2), NOW).count).toBe(1);
    }
  });

  it("is read again where another worker wrote, or another request of this one", () => {
    const workers = twoWorkersFor(1);
    const slot = workers[0].enroll("10.0.0.1:8000", NOW);
    workers[1].enroll("10.0.0.1:8000", NOW);
    const mine = new Homes();
    new Talk(1).fill(workers[0].request);
    workers[0].affinity.find(workers[0].request, workers[0].fleet, mine, NOW);
    workers[1].serve(new Talk(2), slot, NOW);
    workers[0].serve(new Talk(3), slot, NOW);
    new Talk(1).fill(workers[0].request);
    workers[0].store.resetCounts();
    workers[0].affinity.learn(workers[0].request, workers[0].fleet, mine, slot, NOW);
    expect(workers[0].store.reads).toBe(1);
    expect(workers[0].store.writes).toBe(2);
    for (let i = 1; i <= 3; i++) {
      expect(workers[1].find(new Talk(i).step(5, 6), NOW).count).toBe(1);
    }
  });
});

describe("an opening that thousands share", () => {
  it("leads each of them home, for the worker that served and for another one", () => {
    const workers = twoWorkersFor(3_000);
    const slot = workers[0].enroll("10.0.0.1:8000", NOW);
    workers[1].enroll("10.0.0.1:8000", NOW);
    const talks = crowd(workers[0], 3_000, slot);
    const nowMs = NOW + MINUTE;
    expect(countKnown(workers[1], talks, nowMs)).toBe(3_000);
    for (let i = 0; i < talks.length; i++) workers[1].serve(talks[i], slot, nowMs);
    expect(countKnown(workers[0], talks, nowMs + MINUTE)).toBe(3_000);
  });

  it("costs a bounded number of reads and writes", () => {
    const worker = aWorker(3_000);
    const slot = worker.enroll("10.0.0.1:8000", NOW);
    crowd(worker, 300, slot);
    const talk = common(1_000_000, 1);
    for (let turn: u64 = 1; turn < 40; turn++) {
      worker.store.resetCounts();
      worker.serve(talk, slot, NOW + MINUTE + turn * SECOND);
      expect(worker.store.reads).toBeLessThanOrEqual(turn == 1 ? 2 : 7);
      expect(worker.store.writes).toBeLessThanOrEqual(3);
      expect(worker.homes.verifiedTurn).toBe(<i32>turn);
      talk.step(turn * 1_000, turn);
    }
    worker.store.resetCounts();
    worker.serve(common(2_000_000, 200), slot, NOW + 2 * MINUTE);
    expect(worker.store.reads).toBeLessThanOrEqual(1 + 6 + 1 + 2);
    expect(worker.store.writes).toBeLessThanOrEqual(3);
  });

  it("leads histories home that nobody knew and that came once before", () => {
    const worker = aWorker(2_000);
    const slot = worker.enroll("10.0.0.1:8000", NOW);
    const talks: Talk[] = [];
    for (let i = 0; i < 1_000; i++) {
      talks.push(common(i, 12));
      worker.serve(talks[i], slot, NOW + <u64>i * 10);
    }
    let home = 0;
    for (let i = 0; i < talks.length; i++) {
      const homes = worker.find(talks[i].step(mix(i + 7), 9), NOW + MINUTE);
      if (homes.count > 0 && homes.matchedRuns == 11) home++;
    }
    expect(home).toBeGreaterThanOrEqual(990);
  });

  it("counts twins, doubts and drops of rows that spilled", () => {
    const worker = aWorker(3_000);
    const slot = worker.enroll("10.0.0.1:8000", NOW);
    crowd(worker, 300, slot);
    const talk = common(1_000_000, 6);
    for (let i = 0; i < 2; i++) worker.serve(talk, slot, NOW + MINUTE);
    expect(worker.find(talk, NOW + MINUTE).matchedEnd).toBe(true);
    expect(worker.homes.count).toBe(0, "two twins are served here");
    for (let turn: u64 = 1; turn <= 2; turn++) {
      worker.serve(talk.step(turn, turn), slot, NOW + (1 + turn) * MINUTE);
      worker.affinity.judge(worker.homes, false);
    }
    expect(worker.find(talk.step(8, 8), NOW + 4 * MINUTE).doubted).toBe(true);
    const before = worker.store.shared.bytes;
    for (let turn: u64 = 10; turn < 30; turn++) {
      worker.serve(talk.step(turn, turn), slot, NOW + 4 * MINUTE + turn);
    }
    expect((worker.store.shared.bytes - before) / 64).toBeLessThanOrEqual(8);
  });

  it("makes the oldest go instead once they are no longer in use", () => {
    const worker = aWorker(3_000);
    const slot = worker.enroll("10.0.0.1:8000", NOW);
    for (let i = 0; i < 200; i++) {
      worker.serve(common(i, 1), slot, NOW + <u64>i * MINUTE);
      worker.serve(common(i, 2), slot, NOW + <u64>i * MINUTE);
    }
    const talk = common(1_000_000, 2);
    worker.serve(talk, slot, NOW + 200 * MINUTE);
    worker.store.resetCounts();
    expect(worker.find(talk.step(5, 6), NOW + 200 * MINUTE).count).toBe(1);
    expect(worker.store.reads).toBe(1);
  });

  it("is looked up in one read again some hours after the crowd", () => {
    const worker = aWorker(3_000);
    const slot = worker.enroll("10.0.0.1:8000", NOW);
    crowd(worker, 300, slot);
    const talk = common(1_000_000, 8);
    worker.store.resetCounts();
    worker.find(talk, NOW + MINUTE);
    expect(worker.store.reads).toBeGreaterThan(1);
    worker.store.resetCounts();
    worker.find(talk, NOW + 200 * MINUTE);
    expect(worker.store.reads).toBe(1);
  });

  it("is known, at the price of some reads, whatever a damaged value says of spilled rows", () => {
    for (let byte = 0; byte < 512; byte++) {
      const worker = aWorker(100);
      const slot = worker.enroll("10.0.0.1:8000", NOW);
      const talk = common(byte, 4);
      worker.serve(talk, slot, NOW);
      worker.store.shared.damage(NOTE_BYTE + (byte & 1), <u8>(byte >> 1));
      worker.store.resetCounts();
      expect(worker.find(talk.step(3, 4), NOW).count).toBe(1);
      expect(worker.store.reads).toBeLessThanOrEqual(2);
      worker.serve(talk, slot, NOW + SECOND);
      expect(worker.find(talk.step(5, 6), NOW + 2 * SECOND).count).toBe(1);
    }
  });
});
