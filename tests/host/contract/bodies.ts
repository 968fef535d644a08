// SPDX-License-Identifier: Apache-2.0
// Contract situations: which callbacks a request makes, in every shape of its body.
import type { Ask, Seen, Setup, Situation, World } from "./world.ts";

export const HOLDING = "headers=1;body=2;pin=header";

const KIB = "0123456789abcdef".repeat(64);

/** Text of this many KiB. */
export function kib(count: number): string {
  return KIB.repeat(count);
}

/** The report's end for a request that some endpoint answered with 200. */
function ended(seen: Seen): boolean {
  return (
    seen.events.endsWith(" D X") && / L code=200 details=via_upstream flags=0 /.test(seen.events)
  );
}

/** Callbacks of the request direction only. */
export function requestCalls(events: string): string {
  return events.split(" pinned=")[0]!;
}

async function calls(world: World, ask: Ask): Promise<object> {
  const seen = await world.ask(ask);
  const { status, intact } = seen;
  return { status, intact, calls: requestCalls(seen.events), ended: ended(seen) };
}

function shape(
  name: string,
  ask: Ask,
  expected: string,
  setup: Setup = { probe: HOLDING },
): Situation {
  return {
    name,
    setup,
    run: (world) => calls(world, ask),
    expect: { status: 200, intact: true, calls: expected, ended: true },
  };
}

export const BODY_SITUATIONS: Situation[] = [
  shape("a GET has no body callback", {}, "H(1)=0"),
  shape(
    "a POST with content-length 0 has no body callback",
    { method: "POST", body: "" },
    "H(1)=0",
  ),
  shape(
    "a body with a length comes in data calls and an empty end",
    { body: kib(1) },
    "H(0)=1 B=2 B.=0",
  ),
  shape("a large body is not cut short of its end", { body: kib(900) }, "H(0)=1 B=2 B.=0"),
  shape(
    "a body in pieces comes in pieces",
    { chunks: [kib(1), kib(2), kib(3)] },
    "H(0)=1 B=2 B.=0",
  ),
  shape("an empty chunked body is one empty end", { method: "POST", chunks: [""] }, "H(0)=1 B.=0"),
  shape(
    "an HTTP/2 POST without a body has no body callback",
    { method: "POST", protocol: "http2" },
    "H(1)=0",
  ),
  shape(
    "a filter may let go when the content length is reached, before the end is known",
    { body: kib(20) },
    "H(0)=1 B=0 B.=0",
    { probe: `${HOLDING};early=1` },
  ),
  shape("a filter that does not hold sees the same calls", { body: kib(20) }, "H(0)=0 B=0 B.=0", {
    probe: "",
  }),
  shape(
    "the buffer filter in front gives the whole body in one call with the end",
    { body: kib(300) },
    "H(0)=1 B!=0",
    { probe: HOLDING, chain: "pin_buffered", connectionBytes: 32 * 1024 },
  ),
  shape(
    "the buffer filter in front does the same for HTTP/2 with a small window",
    { body: kib(300), protocol: "http2" },
    "H(0)=1 B!=0",
    {
      probe: HOLDING,
      chain: "pin_buffered",
      connectionBytes: 32 * 1024,
      http2WindowBytes: 64 * 1024,
    },
  ),
  {
    name: "trailers end a request without any end in the body calls",
    setup: { probe: HOLDING },
    async run(world) {
      const seen = await world.ask({ chunks: [kib(1)], trailers: { "x-sum": "7" } });
      const { status, intact, upstreamTrailers } = seen;
      return { status, intact, upstreamTrailers, calls: requestCalls(seen.events) };
    },
    expect: {
      status: 200,
      intact: true,
      upstreamTrailers: { "x-sum": "7" },
      calls: "H(0)=1 B=2 T(7)=0",
    },
  },
  {
    name: "an HTTP/2 body arrives whole",
    setup: { probe: HOLDING },
    async run(world) {
      const seen = await world.ask({ body: kib(200), protocol: "http2", want: 2 });
      return { status: seen.status, intact: seen.intact, endpoint: seen.endpoint };
    },
    expect: { status: 200, intact: true, endpoint: 2 },
  },
  {
    name: "mode 1 shows everything so far and forwards it once",
    setup: { probe: "headers=1;body=1;pin=header" },
    run: (world) => calls(world, { chunks: [kib(1), kib(2)] }),
    expect: { status: 200, intact: true, calls: "H(0)=1 B=1 B!=0", ended: true },
  },
  {
    name: "header reads fail in body calls of a filter that did not hold",
    setup: { probe: "late_reads=1" },
    async run(world) {
      const seen = await world.ask({ body: kib(1), want: 1 });
      return { calls: requestCalls(seen.events) };
    },
    expect: { calls: "H(0)=0 read=2 property=!1 B=0 B.=0" },
  },
  {
    name: "headers stay readable in body calls after a release from a body call",
    setup: { probe: `${HOLDING};early=1;late_reads=1` },
    async run(world) {
      const seen = await world.ask({ body: kib(1), want: 1 });
      return { calls: requestCalls(seen.events) };
    },
    expect: { calls: "H(0)=1 set=0 B=0 read=0 property=#1 B.=0" },
  },
  {
    name: "properties exist when they should",
    setup: { probe: `${HOLDING};properties=1` },
    async run(world) {
      const seen = await world.ask({ body: kib(1), want: 3 });
      return { events: seen.events };
    },
    expect: {
      events:
        "cluster=llm endpoints=4 address=!1 H(0)=1 B=2 set=0 B.=0 served=@3 code=200 pinned= h(0)=0 " +
        "b.=0 L code=200 details=via_upstream flags=0 address=@3 attempts=1 D X",
    },
  },
];
