// SPDX-License-Identifier: Apache-2.0
// The gauges that count what was sent to endpoints: exact however streams end, and right again after a trap.
import { InFlight } from "../../../assembly/memory/in-flight";
import { MAX_SLOTS, NO_SLOT } from "../../../assembly/memory/roster";
import { GaugeKind } from "../../../assembly/memory/shared-store";
import { SharedGauges, SharedValues } from "./memory-store";
import { aWorker, endpoint, START_MS, twoWorkers, Worker } from "./worlds";

const NOW: u64 = START_MS;

function inFlight(worker: Worker, slot: i32): i64 {
  return worker.gauges.get(GaugeKind.InFlight, slot);
}

describe("the gauges of a fleet", () => {
  it("return to 0 however often a stream ends", () => {
    const worker = aWorker();
    const slot = worker.enroll(endpoint(1), NOW);
    const flight = new InFlight();
    worker.fleet.send(flight, slot, 500, 2_000);
    worker.fleet.send(flight, slot, 500, 2_000);
    expect(inFlight(worker, slot)).toBe(1);
    expect(worker.gauges.get(GaugeKind.PendingPrefill, slot)).toBe(500);
    worker.fleet.firstByte(flight);
    worker.fleet.firstByte(flight);
    expect(worker.gauges.get(GaugeKind.PendingPrefill, slot)).toBe(0);
    expect(worker.gauges.get(GaugeKind.Context, slot)).toBe(2_000);
    worker.fleet.publish(NOW);
    expect(worker.gauges.shared.values[slot * 3]).toBe(1);
    worker.fleet.finish(flight);
    worker.fleet.finish(flight);
    worker.fleet.publish(NOW);
    for (let kind = 0; kind < 3; kind++) {
      expect(worker.gauges.shared.values[slot * 3 + kind]).toBe(0);
    }
    expect(worker.gauges.definitions).toBe(3);
  });

  it("ignore streams that were never counted", () => {
    const worker = aWorker();
    const flight = new InFlight();
    worker.fleet.send(flight, NO_SLOT, 1, 1);
    worker.fleet.firstByte(flight);
    worker.fleet.finish(flight);
    worker.fleet.publish(NOW);
    expect(worker.gauges.definitions).toBe(0);
  });

  it("read as 0 when they wrapped below zero", () => {
    const worker = aWorker();
    worker.gauges.shared.values[0] = u64.MAX_VALUE;
    expect(inFlight(worker, 0)).toBe(0);
  });

  it("lose within seconds what a trapped worker had counted, and nothing else", () => {
    const workers = twoWorkers();
    const slot = workers[0].enroll(endpoint(1), NOW);
    const far = MAX_SLOTS - 1;
    for (let i = 0; i < 5; i++) workers[0].fleet.send(new InFlight(), slot, 10, 100);
    workers[0].fleet.send(new InFlight(), far, 10, 100);
    workers[0].fleet.publish(NOW);
    workers[0].fleet.send(new InFlight(), far, 10, 100); // Counted, but not shared before the trap.
    const alive = new InFlight();
    workers[1].fleet.send(alive, slot, 7, 70);
    expect(inFlight(workers[1], slot)).toBe(6);
    // The first worker traps here: nothing of it is ever called again.
    for (let ms: u64 = 0; ms <= 5_000; ms += 100) workers[1].fleet.tick(NOW + ms);
    expect(inFlight(workers[1], slot)).toBe(1);
    expect(inFlight(workers[1], far)).toBe(0);
    expect(workers[1].gauges.get(GaugeKind.Context, slot)).toBe(70);
    workers[1].fleet.finish(alive);
    expect(inFlight(workers[1], slot)).toBe(0);
  });

  it("are right again when a worker was only asleep", () => {
    const workers = twoWorkers();
    const slot = workers[0].enroll(endpoint(1), NOW);
    const long = new InFlight();
    const other = new InFlight();
    workers[0].fleet.send(long, slot, 10, 100);
    workers[1].fleet.send(other, slot, 1, 1);
    workers[0].fleet.publish(NOW);
    workers[1].fleet.publish(NOW);
    for (let ms: u64 = 0; ms <= 10_000; ms += 500) workers[1].fleet.tick(NOW + ms);
    expect(inFlight(workers[1], slot)).toBe(1);
    workers[0].fleet.firstByte(long);
    workers[0].fleet.publish(NOW + 10_000);
    expect(inFlight(workers[1], slot)).toBe(2);
    expect(workers[1].gauges.get(GaugeKind.PendingPrefill, slot)).toBe(1);
    workers[0].fleet.finish(long);
    workers[1].fleet.finish(other);
    for (let i = 0; i < 2; i++) workers[i].fleet.publish(NOW + 10_500);
    for (let kind = 0; kind < 3; kind++) {
      expect(workers[0].gauges.shared.values[slot * 3 + kind]).toBe(0);
    }
  });

  it("repair themselves after any number of reloads", () => {
    const shared = new SharedValues();
    const gauges = new SharedGauges(MAX_SLOTS);
    let now = NOW;
    for (let life = 0; life < 30; life++) {
      const worker = new Worker(shared, gauges);
      const slot = worker.enroll(endpoint(1), now);
      for (let i = 0; i <= life; i++) worker.fleet.send(new InFlight(), slot, 10, 100);
      worker.fleet.publish(now);
      now += 4_000;
    }
    const last = new Worker(shared, gauges);
    const slot = last.enroll(endpoint(1), now);
    for (let i = 0; i < 10; i++) last.fleet.tick(now + <u64>i * 1_000);
    expect(inFlight(last, slot)).toBe(0);
  });
});
