// SPDX-License-Identifier: Apache-2.0
// Contract situations: how streams end, and what a trap does.
import { HOLDING, kib } from "./bodies.ts";
import { detailsOf } from "./holds.ts";
import type { Answer, Refusal, Setup, Situation } from "./world.ts";

const STREAMING: Answer = { chunks: ["data: 1\n\n"], then: "hold" };
const COUNTING = `${HOLDING};gauge=1`;
const GAUGE = "probe_inflight";

/** Longer than the back-off of a VM reload, jitter included. */
const RELOAD_MS = 1500;

function tailOf(events: string): string {
  return events
    .slice(events.lastIndexOf(" L ") + 1)
    .replace(/\{.*?\}/, "")
    .replace(/ address=@\d/, "");
}

function trapped(policy: Setup["failurePolicy"], expect: object): Situation {
  return {
    name: `after a trap under ${policy} the next requests get what the policy says`,
    setup: { probe: HOLDING, failurePolicy: policy },
    async run(world) {
      await world.wait(RELOAD_MS);
      const { status } = await world.ask({ headers: { "x-trap": "headers" } });
      await world.wait(RELOAD_MS);
      const next = await world.ask({ want: 1 });
      return {
        trapped: status,
        next: next.status,
        filtered: next.endpoint === 1 && next.events !== "",
      };
    },
    expect,
  };
}

/** Streams of a trapped VM end with their next callback, not before. */
function cutByTrap(phase: string, failurePolicy: NonNullable<Setup["failurePolicy"]>): Situation {
  return {
    name: `a trap in the ${phase} call under ${failurePolicy} cuts the worker's other streams and leaks their gauges`,
    setup: { probe: COUNTING, failurePolicy },
    async run(world) {
      await world.wait(RELOAD_MS);
      const before = await world.gauge(GAUGE);
      const running = await world.start({ answer: STREAMING });
      const trapping = await world.ask({ body: kib(1), headers: { "x-trap": phase } });
      await world.wait(300);
      const early = running.over();
      const other = await running.finish();
      return {
        trapped: trapping.status,
        early,
        other: other.status,
        cut: other.cut,
        reported: other.events !== "",
        leaked: (await world.gauge(GAUGE)) - before,
      };
    },
    expect: { trapped: 503, early: false, other: 200, cut: true, reported: false, leaked: 2 },
  };
}

export const ENDING_SITUATIONS: Situation[] = [
  {
    name: "a finished stream ends in log, done, delete and the gauge is back at 0",
    setup: { probe: COUNTING },
    async run(world) {
      const running = await world.start({ answer: STREAMING });
      const during = await world.gauge(GAUGE);
      const seen = await running.finish();
      return { during, after: await world.gauge(GAUGE), tail: tailOf(seen.events) };
    },
    expect: {
      during: 1,
      after: 0,
      tail: "L code=200 details=via_upstream flags=0 attempts=1 D X",
    },
  },
  {
    name: "a client that leaves in the middle of a response",
    setup: { probe: COUNTING },
    async run(world) {
      const running = await world.start({ answer: STREAMING });
      const seen = await running.leave();
      return { tail: tailOf(seen.events), gauge: await world.gauge(GAUGE) };
    },
    expect: {
      tail: "L code=200 details=downstream_remote_disconnect flags=16384 attempts=1 D X",
      gauge: 0,
    },
  },
  {
    name: "an endpoint that breaks off in the middle of a response cuts the client",
    setup: { probe: COUNTING },
    async run(world) {
      const seen = await world.ask({ answer: { chunks: ["data: 1\n\n"], then: "break" } });
      const details = detailsOf(seen.events).split("{")[0];
      return { status: seen.status, cut: seen.cut, details, gauge: await world.gauge(GAUGE) };
    },
    expect: {
      status: 200,
      cut: true,
      details: "upstream_reset_after_response_started",
      gauge: 0,
    },
  },
  {
    name: "an endpoint that breaks the connection instead of answering is a 503",
    setup: { probe: COUNTING },
    async run(world) {
      const seen = await world.ask({ body: kib(1), answer: { instead: "break" } });
      const details = detailsOf(seen.events).split("{")[0];
      return { status: seen.status, details, gauge: await world.gauge(GAUGE) };
    },
    expect: { status: 503, details: "upstream_reset_before_response_started", gauge: 0 },
  },
  {
    name: "a route timeout is a 504",
    setup: { probe: COUNTING, routeTimeoutMs: 300 },
    async run(world) {
      const seen = await world.ask({ body: kib(1), answer: { instead: "silence" } });
      return {
        status: seen.status,
        tail: tailOf(seen.events),
        gauge: await world.gauge(GAUGE),
      };
    },
    expect: {
      status: 504,
      tail: "L code=504 details=response_timeout flags=4 attempts=1 D X",
      gauge: 0,
    },
  },
  {
    name: "an error of the endpoint is passed on as its own",
    setup: { probe: COUNTING },
    async run(world) {
      const seen = await world.ask({ answer: { status: 429 } });
      return { status: seen.status, tail: tailOf(seen.events) };
    },
    expect: { status: 429, tail: "L code=429 details=via_upstream flags=0 attempts=1 D X" },
  },
  {
    name: "response trailers come after the body",
    setup: { probe: HOLDING },
    async run(world) {
      const seen = await world.ask({ answer: { chunks: ["one"], trailers: { "x-end": "1" } } });
      return { status: seen.status, trailers: / b=0 t\(\)=0 L /.test(seen.events) };
    },
    expect: { status: 200, trailers: true },
  },
  trapped("fail_closed", { trapped: 503, next: 503, filtered: false }),
  trapped("fail_open", { trapped: 503, next: 200, filtered: false }),
  trapped("fail_reload", { trapped: 503, next: 200, filtered: true }),
  {
    name: "right after a reload another trap makes requests wait out the back-off",
    setup: { probe: HOLDING, failurePolicy: "fail_reload" },
    async run(world) {
      await world.wait(RELOAD_MS);
      await world.ask({ headers: { "x-trap": "headers" } });
      const reloaded = await world.ask({});
      await world.ask({ headers: { "x-trap": "headers" } });
      const waiting = await world.ask({});
      await world.wait(RELOAD_MS);
      const recovered = await world.ask({});
      return {
        reloaded: reloaded.status,
        waiting: waiting.status,
        recovered: recovered.status,
      };
    },
    expect: { reloaded: 200, waiting: 503, recovered: 200 },
  },
  ...(["headers", "body", "response"] as const).map((phase) => cutByTrap(phase, "fail_reload")),
  cutByTrap("body", "fail_open"),
  cutByTrap("body", "fail_closed"),
  {
    name: "a request that a trapped VM holds gets a 503 with its next bytes",
    setup: { probe: HOLDING, failurePolicy: "fail_reload" },
    async run(world) {
      await world.wait(RELOAD_MS);
      const held = await world.start({ chunks: [kib(1)], unfinished: true });
      await world.ask({ headers: { "x-trap": "headers" } });
      const early = held.over();
      await held.send(kib(1), false);
      const seen = await held.end();
      return { early, status: seen.status, reported: seen.events !== "" };
    },
    expect: { early: false, status: 503, reported: false },
  },
  {
    name: "the filter is configured in each worker, the main thread and the base VM",
    setup: { probe: "workers=3", workers: 3 },
    run: async (world) => ({ configured: await world.configured() }),
    expect: { configured: 5 },
  },
];

export const REFUSALS: Refusal[] = [
  { name: "a filter that refuses its configuration does not load", setup: { probe: "refuse=1" } },
  {
    name: "a filter that traps while it is configured does not load, whatever the failure policy",
    setup: { probe: "trap_configure=1", failurePolicy: "fail_open" },
  },
  { name: "a module with an unknown import does not load", setup: { probe: "" }, unloadable: true },
];
