// SPDX-License-Identifier: Apache-2.0
// Admission against a model, in random orders of everything: no request is forgotten or let go twice, all adds up.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Stream, VirtualEnvoy } from "../../lab/virtual-envoy/index.ts";
import { type Random, seededRandom } from "../../lab/virtual-envoy/random.ts";
import {
  assertNoTrap,
  CHAT_PATH,
  Conversation,
  converse,
  endedStreams,
  ENDPOINTS,
  openGauges,
  settle,
  startGateway,
  TARGETS,
} from "./harness.ts";

const SEEDS = 6;
const STEPS = 500;
const SESSIONS = 24;
const TENANTS = 3;
const CAPACITY_TOKENS = 8_000;
const HOLD_LIMIT_MS = 30_000;
const MAX_HELD = 8;
/** The gauge of held requests, and the answers of other workers, are this old at most. */
const GAUGE_MS = 1_600;
/** Longer than any session that waits for a tool is counted as resident. */
const IDLE_MS = 900_000;

interface Live {
  stream: Stream;
  session: number;
  worker: number;
}

/** What the model expects of the counters. */
interface Books {
  started: number;
  held: number;
  admitted: number;
  refused: number;
}

/** Sessions that come back, grow, leave and are cut off; and beside them what must be true of the filter. */
class World {
  readonly books: Books = { started: 0, held: 0, admitted: 0, refused: 0 };
  private readonly conversations: Conversation[];
  private readonly upstreams = new Map<Stream, number>();
  private readonly waited = new Set<Stream>();
  private live: Live[] = [];
  private turns = 0;
  envoy!: VirtualEnvoy;

  constructor(private readonly random: Random) {
    this.conversations = Array.from({ length: SESSIONS }, (_, index) => this.fresh(index));
  }

  /** The request of a stream has reached an endpoint, which may happen once. */
  reached(stream: Stream): void {
    const times = (this.upstreams.get(stream) ?? 0) + 1;
    this.upstreams.set(stream, times);
    assert.equal(times, 1, "a request is let go once");
    if (this.waited.has(stream)) this.books.admitted++;
  }

  step(crashes: boolean): void {
    const { random, envoy } = this;
    const action = random.below(12);
    if (action <= 5) this.begin();
    else if (action <= 7) this.answer();
    else if (action === 8) envoy.tick(random.below(2_000));
    else if (action === 9) this.pick(() => true)?.stream.abort();
    else if (action === 10) this.pick((one) => this.isServed(one))?.stream.resetUpstream();
    else if (crashes && random.below(8) === 0) this.crash();
    this.forgetEnded();
  }

  /** Requests that wait, as the model sees it, are those that the gauge shows. */
  check(): void {
    this.envoy.tick(GAUGE_MS);
    this.forgetEnded();
    const waiting = this.live.filter((one) => !this.isServed(one)).length;
    assert.equal(this.envoy.metrics.read("smetric_held"), waiting);
  }

  /** Endpoints answer all that they have until nothing is left; whoever waits must go on by then. */
  finish(): void {
    for (let round = 0; this.live.length > 0; round++) {
      assert.ok(round < SESSIONS, `${this.live.length} requests are forgotten`);
      while (this.live.some((one) => this.isServed(one))) this.answer();
      this.envoy.tick(HOLD_LIMIT_MS);
      this.forgetEnded();
    }
    this.envoy.tick(IDLE_MS);
  }

  private begin(): void {
    const { random, envoy, books } = this;
    const session = random.below(SESSIONS);
    if (this.live.some((one) => one.session === session)) return;
    const worker = random.below(envoy.workers.length);
    const headers = { "x-tenant": String(session % TENANTS) };
    const body = this.conversations[session]!.body();
    const stream = envoy.send({ path: CHAT_PATH, headers, body, worker, response: false });
    books.started++;
    if (stream.ended) {
      assert.equal(envoy.observe(stream).status, 429);
      books.refused++;
      return;
    }
    if (!this.upstreams.has(stream)) {
      this.waited.add(stream);
      books.held++;
    }
    this.live.push({ stream, session, worker });
  }

  /** One endpoint answers one request: the session grows, ends, or starts anew. */
  private answer(): void {
    const { random } = this;
    const chosen = this.pick((one) => this.isServed(one));
    if (chosen === undefined) return;
    const { stream, session } = chosen;
    const conversation = this.conversations[session]!;
    const prompt = Math.round(conversation.body().length / 4);
    const cached = random.below(3) === 0 ? 0 : Math.round(prompt * random.next());
    const usage = {
      prompt_tokens: prompt,
      completion_tokens: 20,
      prompt_tokens_details: { cached_tokens: cached },
    };
    const reason = random.below(2) === 0 ? "tool_calls" : "stop";
    stream.respondHeaders(200, { "content-type": "text/event-stream" });
    stream.respondChunk('data: {"choices":[{"delta":{"content":"a"}}]}\n\n');
    if (random.below(4) === 0) this.envoy.tick(random.below(500));
    stream.respondChunk(`data: {"choices":[{"delta":{},"finish_reason":"${reason}"}]}\n\n`);
    stream.respondChunk(
      `data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`,
      true,
    );
    const ends = random.below(10) === 0;
    if (ends) this.conversations[session] = this.fresh(session);
    else conversation.next(++this.turns).ask(this.text());
    this.forgetEnded();
  }

  /** A worker traps: all its streams are cut, those that wait as well. */
  private crash(): void {
    const worker = this.random.below(this.envoy.workers.length);
    this.envoy.crash(worker);
    this.envoy.tick(3_000);
    for (const one of this.live) if (one.worker === worker) one.stream.abort();
  }

  private fresh(index: number): Conversation {
    return new Conversation(`s${index}-${this.random.below(1_000_000)}`).ask(this.text());
  }

  private text(): string {
    return "some words of a file ".repeat(50 + this.random.below(700));
  }

  private isServed({ stream }: Live): boolean {
    return this.upstreams.has(stream);
  }

  private pick(wanted: (one: Live) => boolean): Live | undefined {
    const found = this.live.filter(wanted);
    return found[this.random.below(found.length)];
  }

  private forgetEnded(): void {
    this.live = this.live.filter(({ stream }) => !stream.ended);
  }
}

async function worldOf(target: (typeof TARGETS)[number], seed: number): Promise<World> {
  const random = seededRandom(seed);
  const world = new World(random);
  const order = seed % 2 === 0 ? "fifo" : "oldest-session";
  world.envoy = await startGateway({
    ...{ target, seed, workers: 1 + (seed % 3), trace: false },
    endpoints: ENDPOINTS.slice(0, 2),
    configuration: {
      policy: seed % 2 === 0 ? "sticky" : "priced",
      tenant_header: "x-tenant",
      admission: {
        ...{ enabled: true, order, hold_limit_ms: HOLD_LIMIT_MS, max_held: MAX_HELD },
        capacity_tokens: seed % 4 === 3 ? 0 : CAPACITY_TOKENS,
        refuse_first_turns: seed % 3 === 0,
      },
    },
    upstream: { started: (stream) => world.reached(stream) },
  });
  return world;
}

/** Gauges of load that are not 0, without those of what is believed and learned. */
function loadGauges(envoy: VirtualEnvoy): Record<string, number> {
  const loads = /^smetric_(held|in_flight|pending_prefill_tokens|context_tokens|resident_tokens)/;
  const open = Object.entries(openGauges(envoy));
  return Object.fromEntries(open.filter(([name]) => loads.test(name)));
}

/** One endpoint with room for one small session. */
async function startSmall(
  target: (typeof TARGETS)[number],
  admission: object,
  configuration: object = {},
): Promise<VirtualEnvoy> {
  return startGateway({
    target,
    endpoints: ENDPOINTS.slice(0, 1),
    configuration: {
      ...configuration,
      admission: { enabled: true, capacity_tokens: 2_500, hold_limit_ms: 0, ...admission },
    },
  });
}

function session(name: string): Conversation {
  return new Conversation(name).ask(`some words of ${name} `.repeat(300));
}

const ANSWER = {
  headers: { "content-type": "application/json" },
  chunks: [
    JSON.stringify({
      choices: [{ message: { role: "assistant", content: "a" }, finish_reason: "tool_calls" }],
      usage: { prompt_tokens: 1_500, completion_tokens: 4 },
    }),
  ],
};

/** A session that is served now takes all the room: whoever comes next waits. */
function fill(envoy: VirtualEnvoy): { busy: Stream; warm: Conversation } {
  const warm = session("warm");
  converse(envoy, warm, { response: ANSWER });
  envoy.tick(2_000);
  const body = warm.next(1).body();
  const busy = envoy.send({ path: CHAT_PATH, body, response: false });
  assert.equal(busy.held, false);
  return { busy, warm };
}

function arrive(envoy: VirtualEnvoy, name: string): Stream {
  return envoy.send({ path: CHAT_PATH, body: session(name).body(), response: false });
}

/** A body that is longer than the cap, in chunks: the rest comes while the request waits. */
function arriveLong(envoy: VirtualEnvoy, name: string, headers = {}): Stream {
  const body = session(name).answer("ok").ask("x".repeat(900_000)).body();
  const stream = envoy.openStream({ path: CHAT_PATH, headers: { ...headers } });
  for (const piece of body.match(/[^]{1,16384}/g) ?? []) stream.sendChunk(piece);
  stream.end();
  return stream;
}

function unheld(envoy: VirtualEnvoy): number {
  settle(envoy);
  return envoy.metrics.read("smetric_admission.result.unheld");
}

for (const target of TARGETS) {
  describe(`Waiting in the ${target} module`, () => {
    it("counts as unheld who should have waited and went on, nobody else", async () => {
      const envoy = await startSmall(target, { max_held: 1, refuse_first_turns: true });
      const { busy, warm } = fill(envoy);
      const [first, second] = ["a", "b"].map((name) => arrive(envoy, name));
      assert.deepEqual([first!.held, second!.ending], [true, "local_reply"]);
      busy.respond(ANSWER);
      envoy.tick(100);
      for (let turn = 2; turn < 6; turn++) {
        converse(envoy, warm.next(turn), { response: ANSWER });
      }
      assert.equal(unheld(envoy), 0);
    });

    it("counts as unheld who goes on because the queue is full", async () => {
      const envoy = await startSmall(target, { max_held: 1 });
      fill(envoy);
      const open = ["a", "b", "c"].map((name) => arrive(envoy, name).held);
      assert.deepEqual(open, [true, false, false]);
      assert.equal(unheld(envoy), 2);
    });

    it("bounds the bytes that wait, also those that come while a request waits", async () => {
      const admission = { max_held_bytes: 1_048_576 };
      const envoy = await startSmall(target, admission, { hold_cap_bytes: 4_096 });
      const { busy } = fill(envoy);
      for (let round = 0; round < 3; round++) {
        const open = Array.from({ length: 6 }, (_, index) =>
          arriveLong(envoy, `${round}-${index}`),
        );
        assert.equal(open.filter((stream) => stream.held).length, 2);
        assert.equal(unheld(envoy), 4 * (round + 1));
        // What the others had counted for is there again, neither more nor less.
        for (const stream of open) stream.abort();
      }
      busy.respond(ANSWER);
    });

    it("counts a body that tells its length before it has come", async () => {
      const admission = { max_held_bytes: 1_048_576 };
      const envoy = await startSmall(target, admission, { hold_cap_bytes: 4_096 });
      fill(envoy);
      const headers = { "content-length": "950000" };
      const open = ["a", "b", "c"].map((name) => {
        const stream = envoy.openStream({ path: CHAT_PATH, headers });
        stream.sendChunk(session(name).body().slice(0, 5_000));
        return stream;
      });
      assert.deepEqual(
        open.map((stream) => stream.held),
        [true, false, false],
      );
    });

    it("keeps the rules of the old configuration for who waits while a new one comes", async () => {
      const envoy = await startSmall(target, { hold_limit_ms: 10_000 });
      const { busy } = fill(envoy);
      const [first, second] = ["a", "b"].map((name) => arrive(envoy, name));
      assert.equal(envoy.update({ expose_decision: true }), true);
      assert.equal(converse(envoy, session("new"), { response: ANSWER }).status, 200);
      envoy.tick(1_000);
      assert.deepEqual([first!.held, second!.held], [true, true]);
      busy.respond(ANSWER);
      envoy.tick(10_000);
      for (const stream of [first!, second!]) {
        assert.equal(stream.held, false);
        assert.equal(stream.respond(ANSWER), true);
      }
      assertNoTrap(envoy);
    });

    it("lets nobody wait for longer because the clock was set back", async () => {
      const envoy = await startSmall(target, { hold_limit_ms: HOLD_LIMIT_MS });
      let offsetUs = 0;
      for (const { vm } of envoy.workers) {
        const real = vm.surroundings.clock;
        const clock = { get: () => ({ nowUs: real.nowUs + offsetUs }) };
        Object.defineProperty(vm.surroundings, "clock", clock);
      }
      fill(envoy);
      const before = arrive(envoy, "a");
      offsetUs = -3_600_000_000;
      envoy.tick(1_000);
      const after = arrive(envoy, "b");
      envoy.tick(HOLD_LIMIT_MS + 1_000);
      assert.deepEqual([before.held, after.held], [false, false]);
    });
  });

  describe(`Admission in the ${target} module`, () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      it(`keeps its books in world ${seed}`, async () => {
        const world = await worldOf(target, seed);
        const { envoy, books } = world;
        for (let step = 1; step <= STEPS; step++) {
          world.step(false);
          if (step % 25 === 0) world.check();
        }
        world.finish();
        settle(envoy);
        assertNoTrap(envoy);
        const read = (name: string): number => envoy.metrics.read(name);
        assert.equal(endedStreams(envoy), books.started);
        assert.equal(read("smetric_admission.result.held"), books.held);
        assert.equal(read("smetric_decisions.reason.admitted"), books.admitted);
        assert.equal(read("smetric_streams.outcome.refused"), books.refused);
        assert.deepEqual(loadGauges(envoy), {});
        if (seed % 4 !== 3)
          assert.ok(
            books.held > 40 && books.admitted > 20,
            `it had to hold: ${JSON.stringify(books)}`,
          );
      });

      it(`recovers from traps in world ${seed}`, async () => {
        const world = await worldOf(target, seed);
        for (let step = 1; step <= STEPS; step++) {
          world.step(true);
          if (step % 50 === 0) world.check();
        }
        world.finish();
        assert.deepEqual(loadGauges(world.envoy), {});
      });
    }
  });
}
