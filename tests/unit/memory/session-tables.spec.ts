// SPDX-License-Identifier: Apache-2.0
// Answers that live on one endpoint, programs and their states, and the list of clusters.
import { mix } from "../../../assembly/hash/mix";
import { ClusterList } from "../../../assembly/memory/cluster-list";
import { HeldAnswers } from "../../../assembly/memory/held-answers";
import { Learned } from "../../../assembly/memory/learned";
import { Program, ProgramState } from "../../../assembly/memory/program";
import { Programs } from "../../../assembly/memory/programs";
import { NO_SLOT } from "../../../assembly/memory/roster";
import { MemoryStore, SharedValues } from "./memory-store";
import { aWorker, START_MS } from "./worlds";

const NOW: u64 = START_MS;

function listed(list: ClusterList, index: i32): string {
  return String.UTF8.decodeUnsafe(list.nameOf(index), list.nameSizeOf(index));
}

function note(list: ClusterList, name: string): void {
  const bytes = String.UTF8.encode(name);
  list.note(changetype<usize>(bytes), bytes.byteLength);
}

describe("held answers", () => {
  it("lead to the endpoint that stores them, until it leaves", () => {
    const worker = aWorker();
    const held = new HeldAnswers(worker.store, 100);
    worker.enroll("10.0.0.1:8000", NOW);
    const slot = worker.enroll("10.0.0.2:8000", NOW);
    expect(held.find(5, worker.fleet, NOW)).toBe(NO_SLOT);
    held.learn(5, 0, worker.fleet, slot, 1);
    held.learn(6, 5, worker.fleet, slot, 1);
    expect(held.find(5, worker.fleet, NOW)).toBe(slot);
    expect(held.find(6, worker.fleet, NOW)).toBe(slot);
    expect(held.find(0, worker.fleet, NOW)).toBe(NO_SLOT);
    for (let i = 0; i < 3; i++) worker.fleet.disobeyed(slot, NOW);
    expect(held.find(5, worker.fleet, NOW)).toBe(NO_SLOT);
  });

  it("that are continued outlive any number of single ones", () => {
    const worker = aWorker();
    const held = new HeldAnswers(worker.store, 100);
    const slot = worker.enroll("10.0.0.2:8000", NOW);
    for (let chain: u64 = 1; chain <= 20; chain++) {
      held.learn(chain << 20, 0, worker.fleet, slot, 1);
      held.learn((chain << 20) + 7, chain << 20, worker.fleet, slot, 1);
    }
    for (let i: u64 = 0; i < 5_000; i++) held.learn((i + 1_000) << 20, 0, worker.fleet, slot, 1);
    for (let chain: u64 = 1; chain <= 20; chain++) {
      expect(held.find(chain << 20, worker.fleet, NOW)).toBe(slot);
      expect(held.find((chain << 20) + 7, worker.fleet, NOW)).toBe(slot);
    }
    expect(worker.store.shared.bytes).toBeLessThan(HeldAnswers.capacityBytes(100) + 10_000);
  });
});

describe("programs", () => {
  it("are recorded for all workers", () => {
    const shared = new SharedValues();
    const a = new Programs(new MemoryStore(shared), 100);
    const b = new Programs(new MemoryStore(shared), 100);
    const program = new Program();
    expect(a.recall(program, 8)).toBe(false);
    a.begin(program, 8);
    program.noteStart(3, NOW);
    expect(a.save(program, 8)).toBe(true);
    const seen = new Program();
    expect(b.recall(seen, 8)).toBe(true);
    expect(seen.parent).toBe(3);
    expect(seen.arrivalMs).toBe(NOW);
    b.begin(seen, 8);
    a.begin(program, 8);
    program.serviceSeconds += 2;
    program.noteEnd(true, NOW + 5_000);
    expect(a.save(program, 8)).toBe(true);
    seen.serviceSeconds += 1;
    expect(b.save(seen, 8)).toBe(false);
    b.begin(seen, 8);
    expect(seen.serviceSeconds).toBe(2);
    expect(seen.endedInTool).toBe(true);
    expect(seen.calls).toBe(1);
  });

  it("compute, wait for a tool, or are idle", () => {
    const program = new Program();
    expect(program.state(NOW)).toBe(ProgramState.Idle);
    program.noteStart(0, NOW);
    program.noteStart(0, NOW);
    program.noteEnd(false, NOW + 1_000);
    expect(program.state(NOW + 1_000)).toBe(ProgramState.Computing);
    program.noteEnd(true, NOW + 2_000);
    expect(program.state(NOW + 2_000)).toBe(ProgramState.InTool);
    expect(program.state(NOW + 3_600_000)).toBe(ProgramState.Idle);
    program.noteEnd(false, NOW + 3_000);
    expect(program.activeCalls).toBe(0);
    expect(program.state(NOW + 3_000)).toBe(ProgramState.Idle);
    expect(program.arrivalMs).toBe(NOW);
  });

  it("forget calls that were lost with their worker", () => {
    const program = new Program();
    program.noteStart(0, NOW);
    const later = NOW + 7_200_000;
    expect(program.state(later)).toBe(ProgramState.Idle);
    program.noteStart(0, later);
    expect(program.activeCalls).toBe(1);
  });

  it("of one call do not push out those of many", () => {
    const shared = new SharedValues();
    const programs = new Programs(new MemoryStore(shared), 50);
    const program = new Program();
    for (let key: u64 = 1; key <= 40; key++) {
      for (let call = 0; call < 2; call++) {
        programs.begin(program, mix(key));
        program.noteStart(0, NOW);
        programs.save(program, mix(key));
      }
    }
    for (let key: u64 = 1_000; key < 6_000; key++) {
      programs.begin(program, mix(key));
      program.noteStart(0, NOW);
      programs.save(program, mix(key));
      programs.begin(program, mix(key));
      program.noteEnd(false, NOW);
      programs.save(program, mix(key));
    }
    for (let key: u64 = 1; key <= 40; key++) expect(programs.recall(program, mix(key))).toBe(true);
    expect(shared.bytes).toBeLessThanOrEqual(Programs.capacityBytes(50));
  });
});

describe("the list of clusters", () => {
  it("is the same for all workers and holds each cluster once", () => {
    const shared = new SharedValues();
    const a = new ClusterList(new MemoryStore(shared));
    const b = new ClusterList(new MemoryStore(shared));
    note(a, "llm");
    note(b, "llm");
    note(b, "outbound|80||llm.default.svc.cluster.local");
    note(b, "x".repeat(200));
    expect(a.refresh(NOW)).toBe(true);
    expect(a.count).toBe(2);
    expect(listed(a, 0)).toBe("llm");
    expect(listed(a, 1)).toBe("outbound|80||llm.default.svc.cluster.local");
    expect(a.refresh(NOW + 10)).toBe(false);
    expect(a.refresh(NOW + 1_000)).toBe(true);
  });

  it("is bounded", () => {
    const list = new ClusterList(new MemoryStore(new SharedValues()));
    for (let i = 0; i < 100; i++) note(list, "cluster-" + i.toString());
    list.refresh(NOW);
    expect(list.count).toBe(64);
  });
});

describe("the learned length of a token", () => {
  it("follows reports and ignores what is no text", () => {
    const learned = new Learned();
    for (let i = 0; i < 200; i++) learned.noteLength(10_000, 4_000);
    expect(Math.abs(learned.bytesPerToken - 2.5)).toBeLessThan(0.01);
    learned.noteLength(10_000_000, 300);
    learned.noteLength(100, 300_000);
    learned.noteLength(40, 4);
    expect(Math.abs(learned.bytesPerToken - 2.5)).toBeLessThan(0.01);
  });
});
