// SPDX-License-Identifier: Apache-2.0
// Many large requests that admission holds on a real Envoy: memory, order, clients that leave, and everybody else.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Agent, type ClientRequest, request } from "node:http";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { quantile } from "simple-statistics";
import { CHAT_PATH, send } from "../harness/client.ts";
import { Conversation } from "../harness/conversation.ts";
import { completion, type Exchange } from "../harness/endpoint.ts";
import { countsAreGiven, type Fleet, startFleet, until } from "../harness/fleet.ts";

export interface HeldSizes {
  streams: number;
  /** Of each body. */
  bytes: number;
  /** How long they are all held. */
  seconds: number;
  /** How many of them give up meanwhile. */
  aborts: number;
  /** Other requests of each look at latencies. */
  others: number;
}

const WORKERS = 2;
/** They come in waves: within one, two workers may hold their first ones in any order. */
const WAVE = 10;
const BYTES_PER_TOKEN = 4;
/** Many ticks of both workers: nothing counts the one that gives what an open stream takes. */
const TICKS_MS = 1_000;
/** Envoy keeps a body once; what its buffers add to that is less than as much again. */
const BYTES_KEPT = 2;
/** What an Envoy with two workers takes anyway. */
const BASE_BYTES = 200 * 1024 * 1024;

/** One request that waits. */
interface Waiting {
  wave: number;
  outgoing: ClientRequest;
  done: Promise<number>;
}

class HeldCrowd {
  /** Waves of those that have reached the endpoint, in this order. */
  readonly reached: number[] = [];
  readonly waiting: Waiting[] = [];
  private readonly filling: Buffer;
  private open!: () => void;
  private readonly opened = new Promise<void>((resolve) => (this.open = resolve));
  private serial = 0;

  constructor(private readonly sizes: HeldSizes) {
    this.filling = Buffer.alloc(sizes.bytes, "some words of a file ");
  }

  /** The first long session takes all room until `letGo`; whoever comes later is answered at once. */
  async answer(exchange: Exchange): Promise<object> {
    const head = exchange.body.subarray(0, 200).toString();
    const wave = /wave (\d+) /.exec(head)?.[1];
    exchange.body = Buffer.alloc(0);
    if (wave !== undefined) this.reached.push(Number(wave));
    if (/first of all/.test(head)) await this.opened;
    return completion(exchange, ++this.serial);
  }

  letGo(): void {
    this.open();
  }

  start(url: string, name: string, wave: number): Waiting {
    const head = `{"model":"m","messages":[{"role":"user","content":"${name} `;
    const tail = '"}]}';
    const bytes = head.length + this.filling.length + tail.length;
    const outgoing = request(url + CHAT_PATH, {
      method: "POST",
      headers: { "content-type": "application/json", "content-length": bytes },
      agent: false,
    });
    const done = new Promise<number>((resolve) => {
      outgoing.on("response", (response) => {
        response.resume().on("end", () => resolve(response.statusCode ?? 0));
      });
      outgoing.on("error", () => resolve(0));
    });
    outgoing.write(head);
    outgoing.write(this.filling);
    outgoing.end(tail);
    return { wave, outgoing, done };
  }

  async startWaves(fleet: Fleet): Promise<void> {
    for (let wave = 0; this.waiting.length < this.sizes.streams; wave++) {
      const missing = Math.min(WAVE, this.sizes.streams - this.waiting.length);
      for (let index = 0; index < missing; index++) {
        this.waiting.push(this.start(fleet.envoy.url, `number ${index} of wave ${wave} `, wave));
      }
      const held = this.waiting.length;
      await until("the wave is held", async () => (await stat(fleet, "smetric_held")) === held);
    }
  }
}

async function stat(fleet: Fleet, name: string): Promise<number> {
  const stats = await fleet.envoy.stats(`^wasmcustom\\.${name.replaceAll(".", "\\.")}`);
  return Object.values(stats).reduce((sum, value) => sum + value, 0);
}

function peakBytes(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+) kB/.exec(text)?.[1]) * 1024;
}

/** Latencies of requests that are no conversations, ms. */
async function othersMs(fleet: Fleet, count: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    const startedAt = performance.now();
    const body = JSON.stringify({ model: "m", input: `text ${index}` });
    const { status } = await send(fleet.envoy.url, body, { agent, path: "/v1/embeddings" });
    assert.equal(status, 200);
    times.push(performance.now() - startedAt);
  }
  agent.destroy();
  return times;
}

async function startHolding(t: TestContext, sizes: HeldSizes): Promise<[Fleet, HeldCrowd]> {
  const crowd = new HeldCrowd(sizes);
  const fleet = await startFleet(t, {
    size: 1,
    concurrency: WORKERS,
    configuration: {
      admission: {
        enabled: true,
        capacity_tokens: Math.round((1.5 * sizes.bytes) / BYTES_PER_TOKEN),
        window_percent: 100,
      },
    },
    answer: async (exchange, response) => {
      const answer = await crowd.answer(exchange);
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(answer));
    },
  });
  assert.equal((await send(fleet.envoy.url, new Conversation("Hello").body())).status, 200);
  return [fleet, crowd];
}

/** Declares the test for one size. */
export function testHeldStreams(sizes: HeldSizes): void {
  const { streams, bytes, seconds, aborts, others } = sizes;
  test(`${streams} held requests of ${bytes} bytes, ${aborts} of which give up`, async (t) => {
    const [fleet, crowd] = await startHolding(t, sizes);
    const before = await othersMs(fleet, others);
    const first = crowd.start(fleet.envoy.url, "first of all", -1);
    await until("all room is taken", () => fleet.endpoints[0]!.heads > others + 1);
    await sleep(TICKS_MS); // The other worker hears of it with a tick, and would find room until then.
    const startedAt = performance.now();
    await crowd.startWaves(fleet);
    const during = await othersMs(fleet, others);
    const quitters = crowd.waiting.filter((_, index) => index % 3 === 1).slice(0, aborts);
    for (const { outgoing } of quitters) outgoing.destroy();
    const left = streams - quitters.length;
    await until("their places are free", async () => (await stat(fleet, "smetric_held")) === left);
    await sleep(Math.max(0, seconds * 1000 - (performance.now() - startedAt)));
    assert.deepEqual(crowd.reached, [], "nobody has gone on");

    crowd.letGo();
    assert.equal(await first.done, 200);
    const stayed = crowd.waiting.filter((waiting) => !quitters.includes(waiting));
    for (const status of await Promise.all(stayed.map(({ done }) => done))) {
      assert.equal(status, 200);
    }
    assert.equal(crowd.reached.length, left, "who gave up reaches no endpoint");
    const inOrder = [...crowd.reached].sort((a, b) => a - b);
    assert.deepEqual(crowd.reached, inOrder, "they go on wave by wave");

    await countsAreGiven(fleet);
    const peak = peakBytes(fleet.envoy.pid);
    assert.ok(peak < BASE_BYTES + BYTES_KEPT * streams * bytes, `Envoy took ${peak} bytes`);
    assert.equal(await stat(fleet, "smetric_admission.result.held"), streams);
    assert.equal(await stat(fleet, "smetric_decisions.reason.admitted"), left);
    await until("all gauges are back at zero", async () => {
      const names = ["smetric_held", "smetric_in_flight", "smetric_pending_prefill_tokens"];
      return (await Promise.all(names.map((name) => stat(fleet, name)))).every((sum) => sum === 0);
    });
    const p99 = (times: number[]): string => `${quantile(times, 0.99).toFixed(1)} ms`;
    t.diagnostic(`others' p99: ${p99(before)} before, ${p99(during)} while all are held`);
    t.diagnostic(`Envoy's peak: ${Math.round(peak / 1024 / 1024)} MiB`);
  });
}
