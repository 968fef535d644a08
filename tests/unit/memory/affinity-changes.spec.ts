// SPDX-License-Identifier: Apache-2.0
// Sessions that move, are compacted, or change their head.
import { Homes } from "../../../assembly/memory/homes";
import { Reading } from "../../../assembly/request/request";
import { aWorker, endpoint, fleetOf, START_MS, Talk } from "./worlds";

const NOW: u64 = START_MS;
const SECOND: u64 = 1_000;

describe("a session that changes", () => {
  it("finds its new home after it moved, and remembers what the old one holds", () => {
    const worker = fleetOf(3);
    const talk = new Talk(1);
    worker.serve(talk, 0, NOW);
    worker.serve(talk.step(2, 3), 0, NOW + SECOND);
    worker.serve(talk.step(4, 5), 1, NOW + 10 * SECOND);
    let homes = worker.find(talk.step(6, 7), NOW + 11 * SECOND);
    expect(homes.count).toBe(2);
    expect(homes.slots[0]).toBe(1);
    expect(homes.prefixTokens[0]).toBe(worker.request.promptTokens - 100);
    expect(homes.slots[1]).toBe(0);
    expect(homes.prefixTokens[1]).toBe(1_000 + 400);
    expect(homes.movedMs).toBe(NOW + 10 * SECOND);
    worker.serve(talk, 1, NOW + 11 * SECOND);
    homes = worker.find(talk.step(8, 9), NOW + 12 * SECOND);
    expect(homes.slots[0]).toBe(1);
    expect(homes.movedMs).toBe(NOW + 10 * SECOND);
  });

  it("is only a weak preference when its head changed", () => {
    const worker = fleetOf(2);
    const talk = new Talk(1);
    worker.serve(talk, 1, NOW);
    talk.step(2, 3).head = 78;
    let homes = worker.find(talk, NOW);
    expect(homes.headDiffers).toBe(true);
    expect(homes.count).toBe(1);
    expect(homes.slots[0]).toBe(1);
    expect(homes.prefixTokens[0]).toBe(0);
    expect(homes.seenTokens).toBe(0);
    expect(homes.verifiedTurn).toBe(2);
    worker.serve(talk, 1, NOW);
    homes = worker.find(talk.step(4, 5), NOW);
    expect(homes.headDiffers).toBe(false);
    expect(homes.verifiedTurn).toBe(3);
  });

  it("does not glue applications together that share only an opening or a head", () => {
    const worker = fleetOf(2);
    const one = new Talk(1);
    worker.serve(one, 1, NOW);
    const opening = new Talk(1);
    opening.head = 78;
    expect(worker.find(opening, NOW).count).toBe(0);
    expect(worker.find(new Talk(2), NOW).count).toBe(0);
    const otherModel = new Talk(1).step(2, 3);
    otherModel.model = 6;
    expect(worker.find(otherModel, NOW).count).toBe(0);
  });

  it("continues by its key after compaction, at the worth of its head", () => {
    const worker = fleetOf(3);
    const talk = new Talk(1);
    talk.session = 9;
    worker.serve(talk, 2, NOW);
    worker.serve(talk.step(2, 3), 2, NOW + SECOND);
    const compacted = new Talk(500);
    compacted.session = 9;
    let homes = worker.find(compacted, NOW + 2 * SECOND);
    expect(homes.bySession).toBe(true);
    expect(homes.count).toBe(1);
    expect(homes.slots[0]).toBe(2);
    expect(homes.prefixTokens[0]).toBe(1_000);
    expect(homes.verifiedTurn).toBe(1);
    compacted.head = 1;
    expect(worker.find(compacted, NOW).count).toBe(0);
  });

  it("is not moved by a short side request under its key", () => {
    const worker = fleetOf(3);
    const talk = new Talk(1);
    talk.session = 9;
    talk.stepTokens = 5_000;
    worker.serve(talk, 2, NOW);
    worker.serve(talk.step(2, 3), 2, NOW + SECOND);
    const title = new Talk(700);
    title.session = 9;
    title.head = 5;
    expect(worker.find(title, NOW + 2 * SECOND).count).toBe(0);
    worker.serve(title, 0, NOW + 2 * SECOND);
    const compacted = new Talk(500);
    compacted.session = 9;
    expect(worker.find(compacted, NOW + 3 * SECOND).slots[0]).toBe(2);
  });

  it("is not touched by a request that says to be a side request", () => {
    const worker = fleetOf(3);
    const talk = new Talk(1);
    talk.session = 9;
    worker.serve(talk, 2, NOW);
    const probe = new Talk(700);
    probe.session = 9;
    probe.isSide = true;
    probe.stepTokens = 9_000;
    expect(worker.find(probe, NOW).count).toBe(0);
    worker.serve(probe, 0, NOW);
    const compacted = new Talk(500);
    compacted.session = 9;
    expect(worker.find(compacted, NOW).slots[0]).toBe(2);
  });

  it("leaves nothing behind when its head changes with every call", () => {
    const worker = aWorker(1);
    const slot = worker.enroll("10.0.0.1:8000", NOW);
    const talk = new Talk(1);
    for (let turn: u64 = 1; turn <= 40; turn++) {
      talk.head = 1_000 + turn;
      worker.serve(talk, slot, NOW + turn * SECOND);
      if (turn > 1) expect(worker.homes.verifiedTurn).toBe(<i32>turn);
      talk.step(turn * 10, turn * 10 + 1);
    }
    expect(worker.store.shared.bytes).toBeLessThan(2_000);
  });

  it("leads nowhere by its key once the client said that it is over", () => {
    const worker = fleetOf(3);
    const talk = new Talk(1);
    talk.session = 9;
    worker.serve(talk, 2, NOW);
    worker.affinity.freeSession(9);
    const compacted = new Talk(500);
    compacted.session = 9;
    expect(worker.find(compacted, NOW).count).toBe(0);
  });

  it("stays known when a reminder at its end moves with every call", () => {
    const worker = fleetOf(3);
    const clean = new Talk(1);
    let homes = new Homes();
    for (let turn: u64 = 1; turn <= 12; turn++) {
      const sent = clean.fork(clean.answered.length, 9_000 + turn);
      homes = worker.find(sent, NOW + turn * SECOND);
      if (turn >= 3) {
        expect(homes.count).toBe(1, "turn " + turn.toString());
        expect(homes.slots[0]).toBe(1);
      }
      worker.serve(sent, 1, NOW + turn * SECOND);
      clean.step(turn * 10, turn * 10 + 1);
    }
    expect(homes.verifiedTurn).toBeGreaterThan(8);
  });

  it("is found by the part that was read when the rest is still to come", () => {
    const worker = fleetOf(2);
    const talk = new Talk(1);
    worker.serve(talk, 1, NOW);
    worker.serve(talk.step(2, 3), 1, NOW);
    const part = talk.fork(1, 3);
    part.reading = Reading.Open;
    const homes = worker.find(part, NOW);
    expect(homes.count).toBe(1);
    expect(homes.matchedEnd).toBe(false);
    talk.step(4, 5).fill(worker.request);
    worker.affinity.learn(worker.request, worker.fleet, homes, 1, NOW);
    expect(worker.find(talk.step(6, 7), NOW).verifiedTurn).toBeGreaterThan(2);
  });

  it("finds at an endpoint that only prefills what was sent to it, and not what was answered elsewhere", () => {
    const worker = fleetOf(2);
    const talk = new Talk(1);
    worker.serve(talk, 1, NOW);
    const next = talk.step(2, 3);
    const whole = worker.find(next, NOW).prefixTokens[0];
    worker.affinity.keepsAnswers = false;
    const sent = worker.find(next, NOW).prefixTokens[0];
    expect(sent).toBeLessThan(whole);
    expect(sent).toBeGreaterThan(0);
  });

  it("loses its credit when the engine finds nothing of it twice, and gets it back", () => {
    const worker = fleetOf(2);
    const talk = new Talk(1);
    worker.serve(talk, 1, NOW);
    for (let i: u64 = 1; i <= 3; i++) {
      worker.serve(talk.step(i * 10, i * 10 + 1), 1, NOW + i * SECOND);
      expect(worker.homes.doubted).toBe(i == 3);
      worker.affinity.judge(worker.homes, false);
    }
    let homes = worker.find(talk.step(90, 91), NOW + 9 * SECOND);
    expect(homes.doubted).toBe(true);
    expect(homes.slots[0]).toBe(1);
    expect(homes.prefixTokens[0]).toBe(0);
    expect(homes.verifiedTurn).toBe(5);
    worker.serve(talk, 1, NOW + 9 * SECOND);
    worker.affinity.judge(worker.homes, true);
    homes = worker.find(talk.step(92, 93), NOW + 10 * SECOND);
    expect(homes.doubted).toBe(false);
    expect(homes.prefixTokens[0]).toBeGreaterThan(1_000);
  });
});
