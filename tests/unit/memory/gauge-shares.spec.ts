// SPDX-License-Identifier: Apache-2.0
// The gauges of a fleet while workers trap, sleep and come back at random: sums are those of living streams.
import { InFlight } from "../../../assembly/memory/in-flight";
import { MAX_SLOTS } from "../../../assembly/memory/roster";
import { GAUGE_KINDS, GaugeKind } from "../../../assembly/memory/shared-store";
import { Dice } from "./dice";
import { SharedGauges, SharedValues } from "./memory-store";
import { START_MS, Worker } from "./worlds";

const WORKERS: i32 = 4;
const SLOTS: i32 = 70;
const STEPS: i32 = 3_000;
/** Who counts for what is kept in two values: workers must find out about one before the other is destroyed. */
const CALM_MS: u64 = 2_500;

/** One worker and the streams that it has open. */
class Desk {
  flights: InFlight[] = [];
  asleepUntilMs: u64 = 0;

  constructor(public worker: Worker) {}
}

class Office {
  shared: SharedValues = new SharedValues();
  gauges: SharedGauges = new SharedGauges(MAX_SLOTS);
  desks: Desk[] = [];

  constructor() {
    for (let i = 0; i < WORKERS; i++) this.desks.push(new Desk(this.hire()));
  }

  hire(): Worker {
    return new Worker(this.shared, this.gauges, 64);
  }

  tick(nowMs: u64): void {
    for (let i = 0; i < WORKERS; i++) {
      if (this.desks[i].asleepUntilMs <= nowMs) this.desks[i].worker.fleet.tick(nowMs);
    }
  }

  /** Gauges that differ from what the open streams add up to. */
  countWrong(): i32 {
    const truth = new StaticArray<i64>(SLOTS * GAUGE_KINDS);
    for (let i = 0; i < WORKERS; i++) {
      const flights = this.desks[i].flights;
      for (let k = 0; k < flights.length; k++) {
        const at = flights[k].slot * GAUGE_KINDS;
        truth[at + GaugeKind.InFlight] += 1;
        truth[at + GaugeKind.PendingPrefill] += flights[k].pendingTokens;
        truth[at + GaugeKind.Context] += flights[k].contextTokens;
      }
    }
    let wrong = 0;
    for (let at = 0; at < SLOTS * GAUGE_KINDS; at++) {
      if (<i64>this.gauges.values[at] != truth[at]) wrong++;
    }
    return wrong;
  }
}

function work(desk: Desk, dice: Dice, nowMs: u64): void {
  const flights = desk.flights;
  const fleet = desk.worker.fleet;
  if (flights.length == 0 || dice.below(2) == 0) {
    const flight = new InFlight();
    fleet.send(flight, dice.below(SLOTS), <u32>dice.below(5_000), <u32>dice.below(90_000));
    flights.push(flight);
    if (dice.below(3) == 0) fleet.publish(nowMs);
    return;
  }
  const index = dice.below(flights.length);
  if (dice.below(2) == 0) {
    fleet.firstByte(flights[index]);
    return;
  }
  fleet.finish(flights[index]);
  flights[index] = flights[flights.length - 1];
  flights.pop();
}

/** Overwrites one shared value, as an older or foreign writer would. */
function spoil(shared: SharedValues, dice: Dice): void {
  const keys = shared.values.keys();
  if (keys.length == 0) return;
  const key = keys[dice.below(keys.length)];
  const garbage = new StaticArray<u8>(dice.below(200));
  for (let i = 0; i < garbage.length; i++) garbage[i] = <u8>dice.below(256);
  shared.values.set(key, garbage);
  shared.versions.set(key, shared.nextVersion++);
}

describe("gauges under a foreign writer", () => {
  it("come to the sum of the living streams, whatever it destroys from time to time", () => {
    for (let seed: u32 = 1; seed <= 20; seed++) {
      const dice = new Dice(seed * 7_919);
      const office = new Office();
      let nowMs = START_MS;
      let spoiledMs = nowMs;
      for (let step = 0; step < STEPS; step++) {
        nowMs += <u64>dice.below(60);
        const desk = office.desks[dice.below(WORKERS)];
        const event = dice.below(400);
        if (nowMs - spoiledMs > CALM_MS) {
          spoil(office.shared, dice);
          spoiledMs = nowMs;
        } else if (event == 8) desk.asleepUntilMs = nowMs + <u64>dice.below(2_500);
        if (desk.asleepUntilMs <= nowMs) work(desk, dice, nowMs);
        if (step % 5 == 0) office.tick(nowMs);
      }
      for (let i = 0; i < 300; i++) {
        nowMs += 100;
        office.tick(nowMs);
      }
      expect(office.countWrong()).toBe(0, "seed " + seed.toString());
    }
  });
});

describe("gauges under traps and sleep", () => {
  it("come to the sum of the living streams within seconds", () => {
    for (let seed: u32 = 1; seed <= 6; seed++) {
      const dice = new Dice(seed * 104_729);
      const office = new Office();
      let nowMs = START_MS;
      for (let step = 0; step < STEPS; step++) {
        nowMs += <u64>dice.below(60);
        const desk = office.desks[dice.below(WORKERS)];
        const event = dice.below(400);
        if (event == 0) {
          desk.worker = office.hire();
          desk.flights = [];
          desk.asleepUntilMs = 0;
        } else if (event == 1) {
          desk.asleepUntilMs = nowMs + <u64>dice.below(9_000);
        }
        if (desk.asleepUntilMs <= nowMs) work(desk, dice, nowMs);
        if (step % 5 == 0) office.tick(nowMs);
      }
      for (let i = 0; i < 300; i++) {
        nowMs += 100;
        office.tick(nowMs);
      }
      expect(office.countWrong()).toBe(0, "seed " + seed.toString());
    }
  });
});

describe("gauges of a clock that is set back", () => {
  it("lose what a worker had counted that trapped before", () => {
    const dice = new Dice(15_485_863);
    const office = new Office();
    let nowMs = START_MS;
    for (let step = 0; step < 400; step++) {
      nowMs += <u64>dice.below(60);
      work(office.desks[dice.below(WORKERS)], dice, nowMs);
      if (step % 5 == 0) office.tick(nowMs);
    }
    expect(office.desks[0].flights.length).toBeGreaterThan(0);
    office.desks[0].worker = office.hire();
    office.desks[0].flights = [];
    nowMs -= 3_600_000;
    for (let i = 0; i < 300; i++) {
      nowMs += 100;
      office.tick(nowMs);
    }
    expect(office.countWrong()).toBe(0);
  });
});
