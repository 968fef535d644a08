// SPDX-License-Identifier: Apache-2.0
// Conversations that repeat, branch, or come without their history.
import { endpoint, fleetOf, START_MS, Talk } from "./worlds";

const NOW: u64 = START_MS;
const SECOND: u64 = 1_000;

describe("a request that came before", () => {
  it("keeps its turn and its endpoint as a retry", () => {
    const worker = fleetOf(3);
    const talk = new Talk(1);
    worker.serve(talk, 1, NOW);
    worker.serve(talk.step(2, 3), 1, NOW + SECOND);
    const homes = worker.find(talk, NOW + 2 * SECOND);
    expect(homes.verifiedTurn).toBe(2);
    expect(homes.count).toBe(1);
    expect(homes.slots[0]).toBe(1);
    expect(homes.prefixTokens[0]).toBe(worker.request.promptTokens);
  });

  it("is placed by load once each of two endpoints has served it twice", () => {
    const worker = fleetOf(4);
    const talk = new Talk(1);
    worker.serve(talk, 0, NOW);
    worker.serve(talk, 0, NOW);
    let homes = worker.find(talk, NOW);
    expect(homes.count).toBe(0);
    expect(homes.seenTokens).toBe(1_100);
    worker.serve(talk, 1, NOW);
    homes = worker.find(talk, NOW);
    expect(homes.count).toBe(1);
    expect(homes.slots[0]).toBe(1);
    worker.serve(talk, 1, NOW);
    for (let i = 0; i < 20; i++) {
      worker.serve(talk, 2 + (i & 1), NOW);
      expect(worker.find(talk, NOW).count).toBe(0);
    }
  });

  it("goes home as often as the client says that it tries again", () => {
    const worker = fleetOf(4);
    const talk = new Talk(1);
    for (let i = 0; i < 6; i++) {
      talk.retries = i;
      worker.serve(talk, 3, NOW);
    }
    const homes = worker.find(talk, NOW);
    expect(homes.count).toBe(1);
    expect(homes.slots[0]).toBe(3);
  });

  it("goes home again when its twins are long past", () => {
    const worker = fleetOf(4);
    const talk = new Talk(1);
    for (let i = 0; i < 10; i++) worker.serve(talk, i & 3, NOW);
    expect(worker.find(talk, NOW + SECOND).count).toBe(0);
    expect(worker.find(talk, NOW + 120 * SECOND).count).toBe(2);
  });

  it("goes home whatever its twins do when its session key is known", () => {
    const worker = fleetOf(4);
    for (let i = 0; i < 8; i++) {
      const twin = new Talk(1);
      twin.session = 100 + i;
      worker.serve(twin, i & 3, NOW);
    }
    for (let i = 0; i < 8; i++) {
      const twin = new Talk(1).step(50 + i, 60 + i);
      twin.session = 100 + i;
      const homes = worker.find(twin, NOW + SECOND);
      expect(homes.count).toBeGreaterThan(0);
      expect(homes.slots[0]).toBe(i & 3);
      expect(homes.verifiedTurn).toBe(2);
    }
  });

  it("spreads the second turns of twins that nobody can tell apart, and knows each from turn 3 on", () => {
    const worker = fleetOf(4);
    const twins: Talk[] = [];
    for (let i = 0; i < 16; i++) {
      twins.push(new Talk(1));
      worker.serve(twins[i], i & 3, NOW);
    }
    const piled = new StaticArray<i32>(4);
    for (let i = 0; i < 16; i++) {
      const homes = worker.find(twins[i].step(100 + i, 200 + i), NOW + SECOND);
      expect(homes.verifiedTurn).toBe(2);
      const slot = homes.count > 0 ? homes.slots[0] : i & 3;
      if (homes.count > 0) piled[slot]++;
      worker.affinity.learn(worker.request, worker.fleet, homes, slot, NOW + SECOND);
    }
    for (let slot = 0; slot < 4; slot++) expect(piled[slot]).toBeLessThanOrEqual(4);
    for (let i = 0; i < 16; i++) {
      const homes = worker.find(twins[i].step(300 + i, 400 + i), NOW + 2 * SECOND);
      expect(homes.count).toBe(1);
      expect(homes.verifiedTurn).toBe(3);
    }
  });
});

describe("a request that ends in words of the model", () => {
  it("is no turn further for a prefill, and its answer verifies", () => {
    const worker = fleetOf(2);
    const talk = new Talk(1);
    talk.prefill = 2;
    worker.serve(talk, 1, NOW);
    expect(worker.homes.verifiedTurn).toBe(1);
    let homes = worker.find(talk, NOW);
    expect(homes.verifiedTurn).toBe(1);
    expect(homes.prefixTokens[0]).toBe(1_200);
    talk.prefill = 0;
    homes = worker.find(talk.step(22, 3), NOW);
    expect(homes.verifiedTurn).toBe(2);
    expect(homes.slots[0]).toBe(1);
  });

  it("is one turn further where a request was served that ended before them", () => {
    const worker = fleetOf(2);
    const talk = new Talk(1);
    worker.serve(talk, 1, NOW);
    worker.serve(talk.step(2, 3), 1, NOW);
    talk.prefill = 9;
    const homes = worker.find(talk, NOW);
    expect(homes.verifiedTurn).toBe(3);
    expect(homes.slots[0]).toBe(1);
  });
});

describe("a request without its history", () => {
  it("goes where its session was, and its words alone lead nowhere", () => {
    const worker = fleetOf(3);
    const talk = new Talk(1);
    talk.historyHeld = true;
    talk.session = 4;
    expect(worker.find(talk, NOW).count).toBe(0);
    worker.serve(talk, 2, NOW);
    const next = new Talk(2);
    next.historyHeld = true;
    next.session = 4;
    next.head = 0;
    const homes = worker.find(next, NOW);
    expect(homes.count).toBe(1);
    expect(homes.slots[0]).toBe(2);
    expect(homes.bySession).toBe(true);
    const other = new Talk(1);
    expect(worker.find(other, NOW).count).toBe(0);
  });
});

describe("a branch", () => {
  it("goes to where the shared part is, and both branches go on there", () => {
    const worker = fleetOf(3);
    const talk = new Talk(1);
    worker.serve(talk, 2, NOW);
    worker.serve(talk.step(2, 3), 2, NOW + SECOND);
    worker.serve(talk.step(4, 5), 2, NOW + 2 * SECOND);
    const edit = talk.fork(1, 999);
    let homes = worker.find(edit, NOW + 3 * SECOND);
    expect(homes.slots[0]).toBe(2);
    expect(homes.verifiedTurn).toBe(2);
    worker.serve(edit, 1, NOW + 3 * SECOND);
    homes = worker.find(edit.step(7, 8), NOW + 4 * SECOND);
    expect(homes.slots[0]).toBe(1);
    expect(homes.verifiedTurn).toBe(3);
    homes = worker.find(talk.step(6, 7), NOW + 4 * SECOND);
    expect(homes.slots[0]).toBe(2);
    expect(homes.verifiedTurn).toBe(4);
  });

  it("survives while the other branch drops its old boundaries", () => {
    const worker = fleetOf(2);
    const talk = new Talk(1);
    worker.serve(talk, 0, NOW);
    for (let i: u64 = 1; i < 6; i++) worker.serve(talk.step(i * 10, i * 10 + 1), 0, NOW + i);
    const other = talk.fork(5, 777);
    worker.serve(other, 0, NOW + 10);
    for (let i: u64 = 20; i < 26; i++) worker.serve(talk.step(i * 10, i * 10 + 1), 0, NOW + i);
    const homes = worker.find(other.step(31, 32), NOW + 40);
    expect(homes.count).toBe(1);
    expect(homes.verifiedTurn).toBe(7);
  });

  it("reports only what was served of a history that was pruned in the middle", () => {
    const worker = fleetOf(2);
    const talk = new Talk(1);
    worker.serve(talk, 0, NOW);
    for (let i: u64 = 1; i < 8; i++) worker.serve(talk.step(i * 10, i * 10 + 1), 0, NOW + i);
    talk.said[4] = 4_444;
    const homes = worker.find(talk.step(90, 91), NOW + 20);
    expect(homes.count).toBe(1);
    expect(homes.matchedRuns).toBe(3);
    expect(homes.prefixTokens[0]).toBe(1_000 + 4 * 200);
  });
});

describe("examples in a first request", () => {
  it("do not verify, are worth their prefix, and do not make a hot spot", () => {
    const worker = fleetOf(4);
    const examples = new Talk(1).step(2, 3).step(4, 5);
    worker.serve(examples, 0, NOW);
    expect(worker.homes.verifiedTurn).toBe(1);
    let home = 0;
    for (let i = 0; i < 20; i++) {
      const question = examples.fork(2, 1_000 + i);
      const homes = worker.find(question, NOW);
      expect(homes.verifiedTurn).toBe(1);
      expect(homes.seenTokens).toBeGreaterThanOrEqual(1_300);
      if (homes.count > 0) home++;
      worker.affinity.learn(
        worker.request,
        worker.fleet,
        homes,
        homes.count > 0 ? homes.slots[0] : i & 3,
        NOW,
      );
    }
    expect(home).toBeLessThanOrEqual(4);
    const follow = examples.fork(2, 1_003).step(8, 9);
    const homes = worker.find(follow, NOW);
    expect(homes.verifiedTurn).toBe(2);
    expect(homes.count).toBe(1);
  });
});
