// SPDX-License-Identifier: Apache-2.0
// Endpoints that come, go and come back, and what is known of each.
import { mix } from "../../../assembly/hash/mix";
import { Homes } from "../../../assembly/memory/homes";
import { InFlight } from "../../../assembly/memory/in-flight";
import { Learned } from "../../../assembly/memory/learned";
import { Loads, MAX_CANDIDATES } from "../../../assembly/memory/loads";
import { MAX_SLOTS, NO_SLOT } from "../../../assembly/memory/roster";
import { aWorker, endpoint, START_MS, Talk, TTL_MS, twoWorkers, Worker } from "./worlds";

const NOW: u64 = START_MS;

/** One more answer of a model that told its cached tokens. */
function teach(worker: Worker, model: u64, nowMs: u64): void {
  const learned = new Learned();
  worker.fleet.beginLesson(learned, model);
  learned.reports += 1;
  expect(worker.fleet.endLesson(learned, model, nowMs)).toBe(true);
}

function lessonsOf(worker: Worker, model: u64, nowMs: u64): f64 {
  const learned = new Learned();
  worker.fleet.recall(learned, model, nowMs);
  return learned.reports;
}

function enrollAll(worker: Worker, first: i32, count: i32, nowMs: u64): void {
  for (let i = first; i < first + count; i++) {
    const slot = worker.enroll(endpoint(i), nowMs);
    worker.fleet.served(worker.request, new Homes(), slot, nowMs);
  }
}

describe("the fleet", () => {
  it("gives an endpoint one slot, whichever worker meets it first", () => {
    const workers = twoWorkers();
    const a = workers[0].enroll(endpoint(1), NOW);
    const b = workers[1].enroll(endpoint(2), NOW);
    expect(a).not.toBe(b);
    expect(workers[1].enroll(endpoint(1), NOW)).toBe(a);
    expect(workers[0].enroll(endpoint(2), NOW)).toBe(b);
    expect(workers[0].fleet.knownCount).toBe(2);
    expect(
      String.UTF8.decodeUnsafe(workers[0].fleet.addressOf(b), workers[0].fleet.addressSizeOf(b)),
    ).toBe(endpoint(2));
  });

  it("is complete when as many endpoints served as the cluster has", () => {
    const worker = aWorker();
    const loads = new Loads();
    enrollAll(worker, 0, 3, NOW);
    worker.fleet.noteMembers(4);
    worker.fleet.load(loads, worker.request, worker.homes, NOW, 0);
    expect(loads.complete).toBe(false);
    enrollAll(worker, 3, 1, NOW);
    worker.fleet.load(loads, worker.request, worker.homes, NOW, 0);
    expect(loads.complete).toBe(true);
    expect(loads.count).toBe(4);
  });

  it("scales 4 to 12 to 3 to all new addresses without leaks", () => {
    const worker = aWorker();
    const loads = new Loads();
    let now = NOW;
    enrollAll(worker, 0, 4, now);
    enrollAll(worker, 4, 8, now);
    expect(worker.fleet.knownCount).toBe(12);
    now += TTL_MS / 2;
    enrollAll(worker, 0, 3, now);
    now += TTL_MS / 2 + 2_000;
    worker.fleet.tick(now);
    expect(worker.fleet.knownCount).toBe(3);
    worker.fleet.noteMembers(3);
    for (let i = 0; i < 3; i++) {
      for (let k = 0; k < 3; k++) worker.fleet.disobeyed(i, now);
    }
    expect(worker.fleet.knownCount).toBe(0);
    enrollAll(worker, 100, 3, now + 5_000);
    worker.fleet.load(loads, worker.request, worker.homes, now + 5_000, 0);
    expect(loads.count).toBe(3);
    expect(loads.complete).toBe(true);
    for (let i = 0; i < 3; i++) expect(loads.slots[i]).toBeLessThan(12);
  });

  it("survives a thousand generations of endpoints in a bounded table", () => {
    const worker = aWorker();
    let now = NOW;
    let former: u16 = 0;
    for (let i = 0; i < 1_000; i++) {
      const slot = worker.enroll(endpoint(i), now);
      expect(slot).toBe(0);
      const generation = worker.fleet.generationOf(slot);
      if (i > 0) expect(generation).toBe(former == u16.MAX_VALUE ? 1 : former + 1);
      former = generation;
      for (let k = 0; k < 3; k++) worker.fleet.disobeyed(slot, now);
      now += 1_000;
    }
  });

  it("holds 1,024 endpoints and refuses more", () => {
    const worker = aWorker();
    for (let i = 0; i < MAX_SLOTS; i++) worker.enroll(endpoint(i), NOW);
    expect(worker.fleet.knownCount).toBe(MAX_SLOTS);
    expect(worker.enroll("late:1", NOW)).toBe(NO_SLOT);
  });

  it("refuses addresses that are too long or empty", () => {
    const worker = aWorker();
    expect(worker.enroll("x".repeat(61), NOW)).toBe(NO_SLOT);
    expect(worker.enroll("", NOW)).toBe(NO_SLOT);
  });

  it("does not take an endpoint for the one that had its slot before", () => {
    const worker = aWorker();
    const slot = worker.enroll(endpoint(1), NOW);
    const talk = new Talk(1);
    worker.serve(talk, slot, NOW);
    talk.step(2, 3);
    expect(worker.find(talk, NOW).count).toBe(1);
    for (let k = 0; k < 3; k++) worker.fleet.disobeyed(slot, NOW);
    expect(worker.enroll(endpoint(2), NOW + 1_000)).toBe(slot);
    const homes = worker.find(talk, NOW + 1_000);
    expect(homes.count).toBe(0);
    expect(homes.verifiedTurn).toBe(2);
    expect(homes.seenTokens).toBeGreaterThan(0);
  });

  it("knows an endpoint again that was away for a while", () => {
    const worker = aWorker();
    const slot = worker.enroll(endpoint(1), NOW);
    const talk = new Talk(1);
    worker.serve(talk, slot, NOW);
    talk.step(2, 3);
    for (let k = 0; k < 3; k++) worker.fleet.disobeyed(slot, NOW);
    expect(worker.find(talk, NOW).count).toBe(0);
    expect(worker.enroll(endpoint(1), NOW + 1_000)).toBe(slot);
    expect(worker.find(talk, NOW + 1_000).count).toBe(1);
  });

  it("keeps an endpoint whose pins are obeyed now and then", () => {
    const worker = aWorker();
    const slot = worker.enroll(endpoint(1), NOW);
    for (let k = 0; k < 20; k++) {
      worker.fleet.disobeyed(slot, NOW);
      worker.fleet.disobeyed(slot, NOW);
      worker.fleet.served(worker.request, new Homes(), slot, NOW);
    }
    expect(worker.fleet.knownCount).toBe(1);
  });

  it("samples homes and eight others beyond 64 endpoints", () => {
    const worker = aWorker();
    enrollAll(worker, 0, 300, NOW);
    const loads = new Loads();
    const homes = new Homes();
    homes.add(299, 10, NOW);
    let sampled = 0;
    for (let chance: u64 = 0; chance < 300; chance++) {
      worker.store.resetCounts();
      worker.fleet.load(loads, worker.request, homes, NOW, chance * 7919);
      expect(worker.store.reads).toBeLessThanOrEqual(3);
      expect(loads.slots[0]).toBe(299);
      expect(loads.count).toBeLessThanOrEqual(9);
      expect(loads.count).toBeLessThanOrEqual(MAX_CANDIDATES);
      for (let i = 1; i < loads.count; i++) {
        if (loads.slots[i] == 5) sampled++;
      }
    }
    expect(sampled).toBeGreaterThan(0);
  });
});

describe("what is known of an endpoint", () => {
  it("counts the tokens of a session where its last request went, for 120 s", () => {
    const worker = aWorker();
    const loads = new Loads();
    const a = worker.enroll(endpoint(1), NOW);
    const b = worker.enroll(endpoint(2), NOW);
    const talk = new Talk(1);
    worker.serve(talk, a, NOW);
    worker.fleet.served(worker.request, worker.homes, a, NOW);
    worker.fleet.load(loads, worker.request, worker.homes, NOW, 0);
    expect(loads.committed[0]).toBe(1_100);
    talk.step(2, 3);
    worker.serve(talk, b, NOW + 30_000);
    worker.fleet.served(worker.request, worker.homes, b, NOW + 30_000);
    worker.fleet.load(loads, worker.request, worker.homes, NOW + 30_000, 0);
    expect(loads.committed[0]).toBe(0);
    expect(loads.committed[1]).toBe(1_300);
    worker.fleet.tick(NOW + 30_050);
    worker.fleet.load(loads, worker.request, worker.homes, NOW + 200_000, 0);
    expect(loads.committed[1]).toBe(0);
  });

  it("are told to other workers with a tick, and to this one at once", () => {
    const workers = twoWorkers();
    const loads = new Loads();
    const worker = workers[0];
    const slot = worker.enroll(endpoint(1), NOW);
    workers[1].enroll(endpoint(1), NOW);
    new Talk(1).fill(worker.request);
    const followUp = new Homes();
    followUp.add(slot, 100, NOW);
    worker.fleet.load(loads, worker.request, followUp, NOW, 0);
    worker.fleet.send(new InFlight(), slot, 10, 100);
    worker.fleet.served(worker.request, new Homes(), slot, NOW);
    worker.store.resetCounts();
    worker.fleet.load(loads, worker.request, followUp, NOW + 1, 0);
    expect(worker.store.reads + worker.store.writes).toBe(0);
    expect(loads.committed[0]).toBe(1_100);
    expect(loads.inFlight[0]).toBe(1);
    workers[1].fleet.load(loads, worker.request, new Homes(), NOW + 1, 0);
    expect(loads.committed[0]).toBe(0);
    expect(loads.inFlight[0]).toBe(0);
    worker.fleet.tick(NOW + 2);
    workers[1].fleet.load(loads, worker.request, new Homes(), NOW + 60, 0);
    expect(loads.committed[0]).toBe(1_100);
    expect(loads.inFlight[0]).toBe(1);
  });

  it("are written together, however many answers there are between two ticks", () => {
    const worker = aWorker();
    const loads = new Loads();
    const slots: i32[] = [];
    for (let i = 0; i < 100; i++) slots.push(worker.enroll(endpoint(i + 1), NOW));
    new Talk(1).fill(worker.request);
    worker.store.resetCounts();
    for (let i = 0; i < 200; i++) {
      const homes = new Homes();
      if (i >= 100) homes.add(slots[(i * 7) % 100], 100, NOW);
      worker.fleet.served(worker.request, homes, slots[i % 100], NOW);
    }
    worker.fleet.tick(NOW);
    expect(worker.store.writes).toBeLessThan(12);
    const homes = new Homes();
    homes.add(slots[70], 100, NOW);
    worker.fleet.load(loads, worker.request, homes, NOW, 0);
    expect(loads.committed[0]).toBe(2 * 1_100 - 100);
  });

  it("costs a pick no read right after this worker's own answer", () => {
    const workers = twoWorkers();
    const loads = new Loads();
    const worker = workers[0];
    const slot = worker.enroll(endpoint(1), NOW);
    new Talk(1).fill(worker.request);
    worker.fleet.served(worker.request, new Homes(), slot, NOW);
    worker.fleet.tick(NOW + 4);
    worker.store.resetCounts();
    worker.fleet.load(loads, worker.request, worker.homes, NOW + 5, 0);
    expect(worker.store.reads).toBe(0);
    expect(loads.committed[0]).toBe(1_100);
    workers[1].enroll(endpoint(1), NOW);
    workers[1].fleet.served(worker.request, new Homes(), slot, NOW + 6);
    workers[1].fleet.tick(NOW + 6);
    worker.fleet.load(loads, worker.request, worker.homes, NOW + 40, 0);
    expect(worker.store.reads).toBe(1);
    expect(loads.committed[0]).toBe(2_200);
  });

  it("tells which heads an endpoint served and what was evicted there", () => {
    const worker = aWorker();
    const loads = new Loads();
    const slot = worker.enroll(endpoint(1), NOW);
    const talk = new Talk(1);
    worker.serve(talk, slot, NOW);
    worker.fleet.served(worker.request, worker.homes, slot, NOW);
    worker.fleet.load(loads, worker.request, worker.homes, NOW, 0);
    expect(loads.headServed[0]).toBe(true);
    expect(loads.horizonMs[0]).toBe(0);
    worker.fleet.raiseHorizon(slot, NOW, NOW);
    worker.fleet.load(loads, worker.request, worker.homes, NOW, 0);
    expect(loads.headServed[0]).toBe(false);
    expect(loads.horizonMs[0]).toBe(NOW);
  });

  it("believes an eviction unless something older has just been found there", () => {
    const worker = aWorker();
    const loads = new Loads();
    const slot = worker.enroll(endpoint(1), NOW);
    worker.fleet.confirm(slot, NOW - 300_000, NOW);
    expect(worker.fleet.raiseHorizon(slot, NOW - 1_000, NOW + 1_000)).toBe(false);
    worker.fleet.load(loads, worker.request, worker.homes, NOW, 0);
    expect(loads.horizonMs[0]).toBe(0);
    expect(worker.gauges.evictedSeconds).toBe(0);
    expect(worker.fleet.raiseHorizon(slot, NOW - 400_000, NOW + 1_000)).toBe(true);
    expect(worker.gauges.evictedSeconds).toBe(401);
    worker.fleet.load(loads, worker.request, worker.homes, NOW, 0);
    expect(loads.horizonMs[0]).toBe(NOW - 400_000);
    worker.fleet.raiseHorizon(slot, NOW - 1_000, NOW + 100_000);
    worker.fleet.load(loads, worker.request, worker.homes, NOW, 0);
    expect(loads.horizonMs[0]).toBe(NOW - 1_000);
  });

  it("believes three contradicting reports in a row: the endpoint was restarted, and is empty", () => {
    const worker = aWorker();
    const loads = new Loads();
    const slot = worker.enroll(endpoint(1), NOW);
    worker.fleet.confirm(slot, NOW - 300_000, NOW);
    for (let report = 1; report <= 3; report++) {
      worker.fleet.raiseHorizon(slot, NOW - 1_000, NOW + 1_000);
      worker.fleet.load(loads, worker.request, worker.homes, NOW, 0);
      expect(loads.horizonMs[0]).toBe(report < 3 ? 0 : NOW + 999);
    }
  });

  it("shares what answers taught, per model", () => {
    const workers = twoWorkers();
    const learned = new Learned();
    workers[0].fleet.beginLesson(learned, 1);
    learned.uncachedSeconds = 5e-5;
    expect(workers[0].fleet.endLesson(learned, 1, NOW)).toBe(true);
    workers[1].fleet.recall(learned, 2, NOW);
    expect(learned.uncachedSeconds).toBe(1e-4);
    workers[1].fleet.recall(learned, 1, NOW);
    expect(learned.uncachedSeconds).toBe(5e-5);
  });

  it("keeps what many answers taught when names come that are sent once", () => {
    const worker = aWorker();
    for (let i = 0; i < 10; i++) teach(worker, 1, NOW);
    for (let name = 2; name < 200; name++) teach(worker, mix(name), NOW + name * 1_000);
    expect(lessonsOf(worker, 1, NOW + 300_000)).toBe(10);
  });

  it("teaches most models where more take turns than there is room for", () => {
    const worker = aWorker();
    for (let i = 0; i < 20 * 20; i++) teach(worker, mix(i % 20), NOW + i * 1_000);
    let taught = 0;
    for (let i = 0; i < 20; i++) {
      if (lessonsOf(worker, mix(i), NOW + 500_000) > 10) taught++;
    }
    expect(taught).toBeGreaterThan(10);
  });

  it("makes room for new models once those that many answers taught have been idle for hours", () => {
    const worker = aWorker();
    for (let model = 1; model <= 16; model++) {
      for (let i = 0; i < 1_000; i++) teach(worker, mix(model), NOW);
    }
    const later = NOW + 11 * 3_600_000;
    for (let model = 21; model <= 36; model++) {
      teach(worker, mix(model), later);
      teach(worker, mix(model), later);
    }
    for (let model = 21; model <= 36; model++) {
      expect(lessonsOf(worker, mix(model), later)).toBe(2);
    }
  });

  it("begins a lesson again when another worker was faster", () => {
    const workers = twoWorkers();
    const mine = new Learned();
    const theirs = new Learned();
    workers[0].fleet.beginLesson(mine, 1);
    workers[1].fleet.beginLesson(theirs, 1);
    theirs.reports += 1;
    expect(workers[1].fleet.endLesson(theirs, 1, NOW)).toBe(true);
    mine.reports += 1;
    expect(workers[0].fleet.endLesson(mine, 1, NOW)).toBe(false);
    workers[0].fleet.beginLesson(mine, 1);
    mine.reports += 1;
    expect(workers[0].fleet.endLesson(mine, 1, NOW)).toBe(true);
    workers[1].fleet.recall(theirs, 1, NOW + 200);
    expect(theirs.reports).toBe(2);
  });
});
