// SPDX-License-Identifier: Apache-2.0
// Workers, endpoints and conversations for the specs of memory.
import { mix } from "../../../assembly/hash/mix";
import { Affinity } from "../../../assembly/memory/affinity";
import { Fleet } from "../../../assembly/memory/fleet";
import { Homes } from "../../../assembly/memory/homes";
import { MAX_SLOTS } from "../../../assembly/memory/roster";
import { MAX_BOUNDARIES, Reading, Request } from "../../../assembly/request/request";
import { MemoryGauges, MemoryStore, SharedGauges, SharedValues } from "./memory-store";

export const TTL_MS: u64 = 600_000;
export const START_MS: u64 = 1_800_000_000_000;

let vms: u64 = 1;

/** One worker: its own objects over what all workers share. */
export class Worker {
  store: MemoryStore;
  gauges: MemoryGauges;
  fleet: Fleet;
  affinity: Affinity;
  homes: Homes = new Homes();
  request: Request = new Request();

  constructor(shared: SharedValues, gauges: SharedGauges, sessions: i32 = 1_000) {
    const store = new MemoryStore(shared);
    const own = new MemoryGauges(gauges, MAX_SLOTS);
    this.store = store;
    this.gauges = own;
    this.fleet = new Fleet(store, own, "test", vms++, TTL_MS);
    this.affinity = new Affinity(store, sessions);
  }

  enroll(name: string, nowMs: u64): i32 {
    const address = String.UTF8.encode(name);
    return this.fleet.enroll(changetype<usize>(address), address.byteLength, nowMs);
  }

  /** One call of a conversation: looks it up and lets the endpoint of `slot` serve it. */
  serve(talk: Talk, slot: i32, nowMs: u64): void {
    talk.fill(this.request);
    this.affinity.find(this.request, this.fleet, this.homes, nowMs);
    this.affinity.learn(this.request, this.fleet, this.homes, slot, nowMs);
  }

  find(talk: Talk, nowMs: u64): Homes {
    talk.fill(this.request);
    this.affinity.find(this.request, this.fleet, this.homes, nowMs);
    return this.homes;
  }
}

export function aWorker(sessions: i32 = 1_000): Worker {
  return new Worker(new SharedValues(), new SharedGauges(MAX_SLOTS), sessions);
}

/** Two workers of one Envoy. */
export function twoWorkers(): Worker[] {
  const shared = new SharedValues();
  const gauges = new SharedGauges(MAX_SLOTS);
  return [new Worker(shared, gauges), new Worker(shared, gauges)];
}

/** Address of an endpoint by its number. */
export function endpoint(index: i32): string {
  return "10.0." + (index >> 8).toString() + "." + (index & 255).toString() + ":8000";
}

/** A worker that knows that many endpoints, in the slots 0, 1, 2, ... */
export function fleetOf(count: i32): Worker {
  const worker = aWorker();
  for (let i = 0; i < count; i++) worker.enroll(endpoint(i), START_MS);
  return worker;
}

/** A conversation whose item texts are numbers: its requests are made as a reader would. */
export class Talk {
  /** One number per step: what the client said before each run, and then what the model said. */
  said: u64[] = [];
  answered: u64[] = [];
  head: u64 = 77;
  model: u64 = 5;
  session: u64 = 0;
  reading: Reading = Reading.Conversation;
  ambiguous: bool = false;
  /** Words that the client puts into the model's mouth at the end; 0 = none. */
  prefill: u64 = 0;
  historyHeld: bool = false;
  retries: i32 = 0;
  isSide: bool = false;
  /** Tokens of each client item and each run. */
  stepTokens: u32 = 100;

  constructor(first: u64) {
    this.said.push(first);
  }

  get turn(): i32 {
    return this.said.length;
  }

  /** The model answers and the client goes on. */
  step(answer: u64, next: u64): Talk {
    this.answered.push(answer);
    this.said.push(next);
    return this;
  }

  /** A branch that shares everything up to `runs` closed runs and says something else there. */
  fork(runs: i32, other: u64): Talk {
    const copy = new Talk(this.said[0]);
    copy.said = this.said.slice(0, runs);
    copy.said.push(other);
    copy.answered = this.answered.slice(0, runs);
    copy.head = this.head;
    copy.model = this.model;
    copy.session = this.session;
    return copy;
  }

  fill(request: Request): void {
    const runs = this.answered.length;
    request.reading = this.reading;
    request.turn = runs + 1;
    request.head = this.head;
    request.headTokens = 1_000;
    request.headBytes = 4_000;
    request.model = this.model;
    request.session = this.session;
    request.ambiguous = this.ambiguous;
    request.openRun = this.prefill != 0;
    request.historyHeld = this.historyHeld;
    request.identity.retries = this.retries;
    request.identity.isSide = this.isSide;
    request.boundaryCount = 0;
    let chain: u64 = 99;
    let tokens: u32 = 0;
    for (let run = 0; run <= runs; run++) {
      chain = mix(chain * 31 + this.said[run]);
      tokens += this.stepTokens;
      const after = run < runs ? tokens + this.stepTokens : tokens;
      if (isKept(run, runs)) addBoundary(request, chain, run, tokens, after);
      if (run == runs) break;
      chain = mix(chain * 31 + this.answered[run]);
      tokens += this.stepTokens;
    }
    if (this.prefill != 0) {
      tokens += this.stepTokens;
      addBoundary(request, mix(chain * 31 + this.prefill), runs, tokens, tokens);
    }
    request.promptTokens = request.headTokens + tokens;
    request.promptBytes = request.promptTokens * 4;
  }
}

function isKept(run: i32, runs: i32): bool {
  return popcnt<i32>(run + 1) == 1 || run > runs - 4;
}

function addBoundary(request: Request, chain: u64, runs: i32, tokens: u32, after: u32): void {
  if (request.boundaryCount >= MAX_BOUNDARIES) return;
  const boundary = request.boundaries[request.boundaryCount++];
  boundary.chain = chain;
  boundary.runs = runs;
  boundary.prefixTokens = tokens;
  boundary.prefixBytes = tokens * 4;
  boundary.afterRunTokens = after;
  boundary.afterRunBytes = after * 4;
}
