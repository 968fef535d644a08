// SPDX-License-Identifier: Apache-2.0
// Contract situations: holding a request, the limits that bite, and the ways out.
import { HOLDING, kib, requestCalls } from "./bodies.ts";
import type { Ask, Setup, Situation, World } from "./world.ts";

const SMALL = 32 * 1024;
const WINDOW = 64 * 1024;
const WATCHDOG = `${HOLDING};tick=50;release=250`;

async function outcome(world: World, ask: Ask): Promise<object> {
  const { status, intact, events } = await world.ask(ask);
  return { status, intact: status === 200 && intact, details: detailsOf(events) };
}

/** Code details of the access log. */
export function detailsOf(events: string): string {
  return /details=(\S*)/.exec(events)?.[1] ?? "";
}

function passes(name: string, setup: Setup, ask: Ask): Situation {
  const expect = { status: 200, intact: true, details: "via_upstream" };
  return { name, setup, run: (world) => outcome(world, ask), expect };
}

function hangs(name: string, setup: Setup, ask: Ask): Situation {
  const expect = { status: "hangs", intact: false, details: "downstream_remote_disconnect" };
  return { name, setup, run: (world) => outcome(world, ask), expect };
}

export const HOLD_SITUATIONS: Situation[] = [
  {
    name: "waiting past the HTTP/1 limit hangs, and a client with much unsent data leaves unnoticed",
    setup: { probe: HOLDING, connectionBytes: SMALL },
    async run(world) {
      const { status, events } = await world.ask({ body: kib(400) });
      return { status, events };
    },
    expect: { status: "hangs", events: "" },
  },
  passes(
    "an own cap at the limit passes",
    { probe: `${HOLDING};cap=${SMALL}`, connectionBytes: SMALL },
    { body: kib(400) },
  ),
  {
    name: "a piece that passes the limit is the last that is read",
    setup: { probe: HOLDING, connectionBytes: SMALL },
    async run(world) {
      const { status, events } = await world.ask({ chunks: [kib(20), kib(20)] });
      return { status, calls: events.split(" L ")[0], details: detailsOf(events) };
    },
    expect: { status: "hangs", calls: "H(0)=1 B=2", details: "downstream_remote_disconnect" },
  },
  {
    name: "a body above the limit passes when its end comes with the piece that passes the limit",
    setup: { probe: HOLDING, connectionBytes: SMALL },
    run: (world) => outcome(world, { body: kib(40) }),
    expect: { status: 200, intact: true, details: "via_upstream" },
  },
  hangs(
    "an HTTP/2 request hangs past its stream's window",
    { probe: HOLDING, http2WindowBytes: WINDOW },
    { body: kib(400), protocol: "http2" },
  ),
  hangs(
    "a larger listener limit does not help HTTP/2",
    { probe: HOLDING, http2WindowBytes: WINDOW, connectionBytes: 8 * 1024 * 1024 },
    { body: kib(400), protocol: "http2" },
  ),
  passes(
    "an own cap at the window passes",
    { probe: `${HOLDING};cap=${WINDOW}`, http2WindowBytes: WINDOW },
    { body: kib(400), protocol: "http2" },
  ),
  passes(
    "the route's limit counts for HTTP/1",
    { probe: HOLDING, connectionBytes: SMALL, routeBodyBytes: 1024 * 1024 },
    { body: kib(400) },
  ),
  passes(
    "the route's limit counts for HTTP/2",
    { probe: HOLDING, http2WindowBytes: WINDOW, routeBodyBytes: 1024 * 1024 },
    { body: kib(400), protocol: "http2" },
  ),
  {
    name: "mode 1 past the limit is a 413",
    setup: { probe: "headers=1;body=1", connectionBytes: SMALL },
    run: (world) => outcome(world, { body: kib(400) }),
    expect: { status: 413, intact: false, details: "request_payload_too_large" },
  },
  {
    name: "an idle stream that is held past the limit ends in a 408",
    setup: { probe: HOLDING, connectionBytes: SMALL, idleTimeoutMs: 600 },
    run: (world) => outcome(world, { body: kib(400) }),
    expect: { status: 408, intact: false, details: "stream_idle_timeout" },
  },
  passes(
    "continue_stream from a tick frees what is held past the limit",
    { probe: WATCHDOG, connectionBytes: SMALL },
    { body: kib(400) },
  ),
  {
    name: "a tick can set headers and let an unfinished request go; later writes are refused",
    setup: { probe: WATCHDOG },
    async run(world) {
      const running = await world.start({
        chunks: [kib(1)],
        unfinished: true,
        want: 1,
        answer: { chunks: ["ok"] },
      });
      await world.wait(600);
      await running.send(kib(1), true);
      const seen = await running.end();
      const { status, endpoint, intact } = seen;
      return { status, endpoint, intact, calls: requestCalls(seen.events) };
    },
    expect: {
      status: 200,
      endpoint: 1,
      intact: true,
      calls: "H(0)=1 B=2 effective=0 set=0 continue=0 late=2 B=0 B.=0",
    },
  },
  {
    name: "without the flag StopIteration means no body callback ever",
    setup: { probe: HOLDING, flag: false },
    async run(world) {
      const seen = await world.ask({ body: kib(1) });
      return { status: seen.status, calls: seen.events.split(" L ")[0] };
    },
    expect: { status: "hangs", calls: "H(0)=1" },
  },
  {
    name: "a tick rescues a request that the missing flag holds, and its body callbacks come",
    setup: { probe: WATCHDOG, flag: false },
    async run(world) {
      const seen = await world.ask({ body: kib(20), want: 2 });
      const { status, endpoint, intact } = seen;
      const [before, after] = requestCalls(seen.events).split(" late=2 ");
      return { status, endpoint, intact, before, bodySeen: /B[.!]?=0/.test(after ?? "") };
    },
    expect: {
      status: 200,
      endpoint: 2,
      intact: true,
      before: "H(0)=1 effective=0 set=0 continue=0",
      bodySeen: true,
    },
  },
  {
    name: "a client that leaves while its body is held ends in log, done, delete",
    setup: { probe: HOLDING },
    async run(world) {
      const running = await world.start({ chunks: [kib(1)], unfinished: true });
      const seen = await running.leave();
      return { status: seen.status, endpoint: seen.endpoint, events: seen.events };
    },
    expect: {
      status: "left",
      endpoint: -1,
      events:
        "H(0)=1 B=2 L code=!1 details=downstream_remote_disconnect flags=16384 address=!1 attempts=0 D X",
    },
  },
  {
    name: "a local response from a body call reaches the client and no endpoint",
    setup: { probe: `${HOLDING};reply=429` },
    async run(world) {
      const { status, body, endpoint, events } = await world.ask({ body: kib(1) });
      return { status, body, endpoint, events };
    },
    expect: {
      status: 429,
      body: "no",
      endpoint: -1,
      events:
        "H(0)=1 B=2 B.=0 pinned= h(0)=0 b.=0 L code=429 details=probe_said_no flags=0 address=!1 attempts=0 D X",
    },
  },
  {
    name: "a local response from the header call",
    setup: { probe: "reply=403" },
    async run(world) {
      const { status, body, endpoint } = await world.ask({});
      return { status, body, endpoint };
    },
    expect: { status: 403, body: "no", endpoint: -1 },
  },
  {
    name: "a held response is delivered whole",
    setup: { probe: "response_headers=1;response_body=1" },
    async run(world) {
      const { status, body } = await world.ask({ answer: { chunks: ["one ", "two"] } });
      return { status, body };
    },
    expect: { status: 200, body: "one two" },
  },
];
