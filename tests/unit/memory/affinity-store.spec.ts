// SPDX-License-Identifier: Apache-2.0
// Affinity over a store that is small, flooded, contended, damaged or gone, and shared by several workers.
import { Affinity } from "../../../assembly/memory/affinity";
import { MAX_SLOTS } from "../../../assembly/memory/roster";
import { SharedGauges, SharedValues } from "./memory-store";
import { aWorker, START_MS, Talk, Worker } from "./worlds";

const NOW: u64 = START_MS;

function live(worker: Worker, count: i32, slot: i32): Talk[] {
  const talks: Talk[] = [];
  for (let i = 0; i < count; i++) {
    const talk = new Talk(1_000_000 + i);
    worker.serve(talk, slot, NOW);
    worker.serve(talk.step(2_000_000 + i, 3), slot, NOW + 1);
    talks.push(talk);
  }
  return talks;
}

function countHome(worker: Worker, talks: Talk[]): i32 {
  let home = 0;
  for (let i = 0; i < talks.length; i++) {
    talks[i].step(4, 5);
    if (worker.find(talks[i], NOW + 10_000).count > 0) home++;
  }
  return home;
}

describe("a flood of conversations that come once", () => {
  it("does not push out live sessions, and fills a bounded table", () => {
    const worker = aWorker(300);
    const slot = worker.enroll("10.0.0.1:8000", NOW);
    const talks = live(worker, 300, slot);
    const single = new Talk(0);
    for (let i = 0; i < 30_000; i++) {
      single.said[0] = 9_000_000 + <u64>i;
      single.session = 500_000 + <u64>i;
      worker.serve(single, slot, NOW + 2);
    }
    const full = worker.store.shared.bytes;
    expect(full).toBeLessThanOrEqual(Affinity.capacityBytes(300) + 10_000);
    for (let i = 0; i < 3_000; i++) {
      single.said[0] = 19_000_000 + <u64>i;
      worker.serve(single, slot, NOW + 2);
    }
    expect(worker.store.shared.bytes - full).toBeLessThan(full / 50);
    expect(countHome(worker, talks)).toBe(300);
  });

  it("lets the oldest go where all are live", () => {
    const worker = aWorker(20);
    const slot = worker.enroll("10.0.0.1:8000", NOW);
    live(worker, 500, slot);
    const late: Talk[] = [];
    for (let i = 0; i < 20; i++) {
      const talk = new Talk(7_000_000 + i);
      worker.serve(talk, slot, NOW);
      worker.serve(talk.step(8_000_000 + i, 3), slot, NOW + 1);
      late.push(talk);
    }
    expect(countHome(worker, late)).toBe(20);
    expect(worker.store.shared.bytes).toBeLessThanOrEqual(Affinity.capacityBytes(20) + 10_000);
  });
});

describe("several workers", () => {
  it("know what each of them served", () => {
    const shared = new SharedValues();
    const gauges = new SharedGauges(MAX_SLOTS);
    const workers = [
      new Worker(shared, gauges),
      new Worker(shared, gauges),
      new Worker(shared, gauges),
    ];
    workers[2].enroll("10.0.0.9:8000", NOW);
    const talk = new Talk(1);
    for (let turn = 1; turn <= 30; turn++) {
      const worker = workers[turn % 3];
      const slot = worker.enroll("10.0.0.1:8000", NOW + <u64>turn);
      worker.serve(talk, slot, NOW + <u64>turn);
      expect(worker.homes.verifiedTurn).toBe(turn);
      if (turn > 1) expect(worker.homes.slots[0]).toBe(slot);
      talk.step(<u64>turn * 10, <u64>turn * 10 + 1);
    }
  });

  it("lose no entry to one another's writes in the same bucket", () => {
    const shared = new SharedValues();
    const gauges = new SharedGauges(MAX_SLOTS);
    const a = new Worker(shared, gauges, 1);
    const b = new Worker(shared, gauges, 1);
    const slot = a.enroll("10.0.0.1:8000", NOW);
    b.enroll("10.0.0.1:8000", NOW);
    const talks: Talk[] = [];
    for (let i = 0; i < 10; i++) {
      talks.push(new Talk(100 + i));
      const worker = (i & 1) == 0 ? a : b;
      worker.store.conflicts = i % 3;
      worker.serve(talks[i], slot, NOW);
    }
    for (let i = 0; i < 10; i++) {
      expect(a.find(talks[i].step(1, 2), NOW).count).toBe(1);
    }
  });
});

describe("a store that fails", () => {
  it("costs a bounded number of attempts when every write conflicts", () => {
    const worker = aWorker();
    const slot = worker.enroll("10.0.0.1:8000", NOW);
    worker.store.conflicts = 1_000_000;
    worker.store.resetCounts();
    worker.serve(new Talk(1), slot, NOW);
    expect(worker.store.writes).toBeLessThanOrEqual(8);
    worker.store.conflicts = 0;
    expect(worker.find(new Talk(1).step(2, 3), NOW).count).toBe(0);
  });

  it("costs one attempt when writes are refused", () => {
    const worker = aWorker();
    const slot = worker.enroll("10.0.0.1:8000", NOW);
    worker.store.failing = true;
    worker.store.resetCounts();
    worker.serve(new Talk(1), slot, NOW);
    expect(worker.store.writes).toBe(1);
  });

  it("is empty, and usable again, where values are garbage or another writer's", () => {
    for (let size = 0; size < 5_000; size = size * 2 + 1) {
      const worker = aWorker();
      const slot = worker.enroll("10.0.0.1:8000", NOW);
      const talk = new Talk(1);
      talk.session = 3;
      worker.serve(talk, slot, NOW);
      worker.store.shared.fillWithGarbage(size);
      expect(worker.find(talk.step(2, 3), NOW + 2_000).count).toBe(0);
      const again = worker.enroll("10.0.0.1:8000", NOW + 2_000);
      worker.serve(talk, again, NOW + 2_000);
      expect(worker.find(talk.step(4, 5), NOW + 2_000).count).toBe(1);
    }
  });

  it("never traps on a damaged value", () => {
    const worker = aWorker(30);
    const slot = worker.enroll("10.0.0.1:8000", NOW);
    for (let at = 0; at < 400; at++) {
      const talk = new Talk(50 + at);
      talk.session = 1 + at;
      worker.serve(talk, slot, NOW);
      worker.serve(talk.step(2, 3), slot, NOW);
      worker.store.shared.damage(at, <u8>(at * 37 + 200));
      worker.serve(talk.step(4, 5), slot, NOW + <u64>at * 100);
      worker.fleet.tick(NOW + <u64>at * 100);
      worker.enroll("10.0.0.1:8000", NOW + <u64>at * 100);
    }
    expect(true).toBe(true);
  });
});

describe("the size of the tables", () => {
  it("follows from the configured number of sessions", () => {
    expect(Affinity.capacityBytes(10_000)).toBeLessThan(14_000_000);
    expect(Affinity.capacityBytes(1_000_000)).toBeLessThan(1_400_000_000);
  });
});
