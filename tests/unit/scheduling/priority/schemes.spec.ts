// SPDX-License-Identifier: Apache-2.0
// The priority schemes: who goes before whom, and by which number.
import { Learned } from "../../../../assembly/memory/learned";
import { Program } from "../../../../assembly/memory/program";
import { bucketOf } from "../../../../assembly/scheduling/priority/buckets";
import {
  Call,
  enginePriority,
  PrioritySign,
} from "../../../../assembly/scheduling/priority/scheme";
import { schemeNamed } from "../../../../assembly/scheduling/priority/schemes";

/** 2026-11-30, ms since the epoch. */
const NOW_MS: u64 = 1_796_000_000_000;

const learned = new Learned();
learned.uncachedSeconds = 1e-4;
learned.tpotSeconds = 0.02;
learned.outputTokens = 100;

function program(serviceSeconds: f64, waitSeconds: f64 = 0): Program {
  const record = new Program();
  record.arrivalMs = NOW_MS - 60_000;
  record.serviceSeconds = serviceSeconds;
  record.pathSeconds = serviceSeconds;
  record.waitSeconds = waitSeconds;
  return record;
}

/** A call of `uncached * 100 us + output * 20 ms` of service. */
function call(uncachedTokens: f64, outputTokens: f64 = 0): Call {
  const record = new Call();
  record.nowMs = NOW_MS;
  record.uncachedTokens = uncachedTokens;
  record.outputTokens = outputTokens;
  return record;
}

function rank(name: string, who: Program, next: Call = call(1_000)): i32 {
  return schemeNamed(name)!.rank(who, next, learned);
}

describe("buckets", () => {
  it("double from two seconds on", () => {
    expect(bucketOf(0)).toBe(0);
    expect(bucketOf(1.99)).toBe(0);
    expect(bucketOf(2)).toBe(1);
    expect(bucketOf(5.99)).toBe(1);
    expect(bucketOf(6)).toBe(2);
    expect(bucketOf(14)).toBe(3);
    expect(bucketOf(1e12)).toBe(7);
    expect(bucketOf(NaN)).toBe(0);
  });
});

describe("plas", () => {
  it("adds up the service of all calls", () => {
    const who = program(0);
    const scheme = schemeNamed("plas")!;
    expect(scheme.rank(who, call(0), learned)).toBe(0);
    scheme.finish(who, call(10_000, 50), learned);
    expect(who.serviceSeconds).toBe(2);
    expect(scheme.rank(who, call(0), learned)).toBe(1);
    scheme.finish(who, call(40_000), learned);
    expect(scheme.rank(who, call(0), learned)).toBe(2);
  });

  it("promotes the starved until service has made up for it", () => {
    expect(rank("plas", program(10, 79))).toBe(2);
    expect(rank("plas", program(10, 80))).toBe(0);
    expect(rank("plas", program(20, 80))).toBe(3);
  });
});

describe("atlas", () => {
  it("counts parallel calls once", () => {
    const who = program(0);
    const scheme = schemeNamed("atlas")!;
    for (let i = 0; i < 5; i++) scheme.finish(who, call(30_000), learned);
    expect(who.pathSeconds).toBe(3);
    expect(who.serviceSeconds).toBe(15);
    expect(scheme.rank(who, call(0), learned)).toBe(1);
    expect(rank("plas", who)).toBe(3);
  });

  it("adds calls that follow each other", () => {
    const who = program(0);
    const scheme = schemeNamed("atlas")!;
    for (let i = 0; i < 5; i++) {
      const next = call(30_000);
      next.inheritedSeconds = who.pathSeconds;
      scheme.finish(who, next, learned);
    }
    expect(who.pathSeconds).toBe(15);
  });
});

describe("program-fcfs", () => {
  it("orders programs by their first request, to the second", () => {
    const early = program(0);
    const late = program(0);
    late.arrivalMs += 1_000;
    expect(rank("program-fcfs", late)).toBe(rank("program-fcfs", early) + 1);
  });
});

describe("astraea", () => {
  it("serves short segments first among equal waits", () => {
    // 0.1 s + 2 s against 10 s + 2 s of expected service, threefold: 29.7 s apart
    const short = rank("astraea", program(0), call(1_000));
    const long = rank("astraea", program(0), call(100_000));
    expect(long - short).toBeGreaterThanOrEqual(29);
    expect(long - short).toBeLessThanOrEqual(30);
  });

  it("counts the waits of the whole program", () => {
    expect(rank("astraea", program(0, 40))).toBe(rank("astraea", program(0)) - 40);
  });

  it("demotes compute-bound segments and promotes those that end in a tool call", () => {
    const who = program(0);
    const scheme = schemeNamed("astraea")!;
    const before = scheme.rank(who, call(1_000), learned);
    scheme.finish(who, call(41_000), learned);
    expect(who.level).toBe(1);
    scheme.finish(who, call(70_000), learned);
    expect(who.level).toBe(1);
    expect(scheme.rank(who, call(1_000), learned)).toBe(before + 30);
    const tool = call(70_000);
    tool.endedInTool = true;
    scheme.finish(who, tool, learned);
    expect(who.level).toBe(0);
    for (let i = 0; i < 9; i++) scheme.finish(who, call(1_000_000), learned);
    expect(who.level).toBe(3);
  });
});

describe("the number for the engine", () => {
  it("is low first for vLLM and high first for SGLang", () => {
    expect(enginePriority(5, PrioritySign.LowFirst)).toBe(5);
    expect(enginePriority(5, PrioritySign.HighFirst)).toBe(-5);
  });

  it("stays an i32 whatever a clock or a record says", () => {
    const odd = program(0, Infinity);
    expect(rank("astraea", odd)).toBe(-i32.MAX_VALUE);
    odd.arrivalMs = u64.MAX_VALUE;
    expect(rank("program-fcfs", odd)).toBe(i32.MAX_VALUE);
    odd.arrivalMs = 0;
    expect(rank("program-fcfs", odd)).toBeLessThan(0);
    expect(enginePriority(-i32.MAX_VALUE, PrioritySign.HighFirst)).toBe(i32.MAX_VALUE);
  });

  it("knows no other scheme", () => {
    expect(schemeNamed("none") == null).toBe(true);
  });
});
