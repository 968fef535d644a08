// SPDX-License-Identifier: Apache-2.0
// Affinity beside the truth: random sessions, branches, moves and edits over several workers that contend.
import { MAX_SLOTS } from "../../../assembly/memory/roster";
import { Dice } from "./dice";
import { SharedGauges, SharedValues } from "./memory-store";
import { START_MS, Talk, Worker } from "./worlds";

const WORKERS: i32 = 3;
const ENDPOINTS: i32 = 6;
const SESSIONS: i32 = 40;
const CALLS: i32 = 4_000;

/** A session, and what really happened to it. */
class Life {
  slot: i32 = -1;

  constructor(public talk: Talk) {}
}

function workers(): Worker[] {
  const shared = new SharedValues();
  const gauges = new SharedGauges(MAX_SLOTS);
  const all: Worker[] = [];
  for (let i = 0; i < WORKERS; i++) {
    const worker = new Worker(shared, gauges, 2_000);
    for (let k = 0; k < ENDPOINTS; k++) worker.enroll("10.0.0." + k.toString() + ":80", START_MS);
    all.push(worker);
  }
  return all;
}

/** Walks a random history and returns how many look-ups were not what the truth says. */
function countWrong(seed: u32): i32 {
  const dice = new Dice(seed);
  const all = workers();
  const lives: Life[] = [];
  let text: u64 = 1;
  let wrong = 0;
  for (let call = 0; call < CALLS; call++) {
    const nowMs = START_MS + <u64>call * 50;
    const worker = all[dice.below(WORKERS)];
    worker.store.conflicts = dice.below(10) == 0 ? dice.below(4) : 0;
    const isNew = lives.length < SESSIONS && dice.below(10) == 0;
    if (isNew || lives.length == 0) lives.push(new Life(new Talk(text++)));
    const index = isNew ? lives.length - 1 : dice.below(lives.length);
    const life = lives[index];
    const kind = dice.below(20);
    if (life.slot >= 0 && kind == 0 && life.talk.answered.length > 2) {
      // A branch, or an edit: the shared part is still at the endpoint.
      const depth = life.talk.answered.length;
      const keep = max(1, depth - dice.below(min(depth, 4)));
      const branch = life.talk.fork(keep, text++);
      const homes = worker.find(branch, nowMs);
      if (homes.verifiedTurn != keep + 1 || homes.count == 0) wrong++;
      continue;
    }
    if (life.slot >= 0) life.talk.step(text++, text++);
    const homes = worker.find(life.talk, nowMs);
    if (homes.verifiedTurn != life.talk.turn) wrong++;
    if (life.slot >= 0 && (homes.count == 0 || homes.slots[0] != life.slot)) wrong++;
    if (life.slot < 0 && homes.count != 0) wrong++;
    const moves = life.slot < 0 || kind == 1;
    if (moves) life.slot = dice.below(ENDPOINTS);
    worker.affinity.learn(worker.request, worker.fleet, homes, life.slot, nowMs);
  }
  return wrong;
}

describe("affinity beside the truth", () => {
  it("is never wrong in random histories", () => {
    for (let seed: u32 = 1; seed <= 6; seed++) {
      expect(countWrong(seed * 7_919)).toBe(0, "seed " + (seed * 7_919).toString());
    }
  });
});
