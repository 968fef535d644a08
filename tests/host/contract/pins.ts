// SPDX-License-Identifier: Apache-2.0
// Contract situations: naming an endpoint, and what becomes of endpoints that fail.
import { HOLDING, kib } from "./bodies.ts";
import { detailsOf } from "./holds.ts";
import type { Ask, Setup, Situation, World } from "./world.ts";

const STATE = "pin=state";
const PLAIN_OVERRIDE = "headers=1;body=2;pin=header";

/** Where each of several equal requests went. */
async function places(world: World, ask: Ask, count = 6): Promise<number[]> {
  const endpoints: number[] = [];
  for (let round = 0; round < count; round++) endpoints.push((await world.ask(ask)).endpoint);
  return endpoints;
}

function obeyed(name: string, setup: Setup, ask: Omit<Ask, "want"> = {}): Situation {
  return {
    name,
    setup,
    run: async (world) => ({ endpoints: await places(world, { ...ask, want: 2 }) }),
    expect: { endpoints: [2, 2, 2, 2, 2, 2] },
  };
}

/** Requests that a pin cannot bind: all answered, spread over more than one endpoint. */
function ignored(
  name: string,
  setup: Setup,
  want: (world: World) => string,
  ask: Ask = {},
): Situation {
  return {
    name,
    setup,
    run: async (world) => {
      const endpoints = await places(world, { ...ask, wantText: want(world) }, 16);
      return { answered: !endpoints.includes(-1), spread: new Set(endpoints).size > 1 };
    },
    expect: { answered: true, spread: true },
  };
}

function pin(address: string): string {
  return Buffer.from(address).toString("base64");
}

const OVERRIDE: Setup = { probe: PLAIN_OVERRIDE, chain: "override_host" };

export const PIN_SITUATIONS: Situation[] = [
  obeyed("a pin set in the header call is obeyed", { probe: HOLDING }),
  obeyed("a pin set in the last body call is obeyed", { probe: HOLDING }, { body: kib(30) }),
  obeyed(
    "a pin set in the trailers is obeyed",
    { probe: HOLDING },
    { chunks: ["a"], trailers: { "x-sum": "1" } },
  ),
  ignored("a pin that is not base64 is ignored", { probe: HOLDING }, () => "@@not base64@@"),
  ignored("a pin that names ip:port in the clear is ignored", { probe: HOLDING }, (world) =>
    world.address(2),
  ),
  ignored("a pin to an unknown endpoint is ignored", { probe: HOLDING }, () => pin("127.0.0.1:9")),
  {
    name: "a pin reaches the endpoint as a header, and no response header tells of it when obeyed",
    setup: { probe: HOLDING },
    async run(world) {
      const seen = await world.ask({ want: 1 });
      const sent = seen.upstreamHeaders["x-smetric-endpoint"] === pin(world.address(1));
      return { sent, told: seen.headers["x-smetric-endpoint"] !== undefined };
    },
    expect: { sent: true, told: false },
  },
  {
    name: "without a pin the response names who served, and the filter can remove that",
    setup: { probe: `${HOLDING};strip_response=1` },
    async run(world) {
      const seen = await world.ask({});
      const told = new RegExp(`pinned=#${seen.endpoint} `).test(seen.events);
      return { told, client: seen.headers["x-smetric-endpoint"] !== undefined };
    },
    expect: { told: true, client: false },
  },
  {
    name: "a pin that the client forges is obeyed when nobody removes it",
    setup: { probe: "" },
    run: async (world) => ({
      endpoints: await places(world, { headers: { "x-smetric-endpoint": pin(world.address(3)) } }),
    }),
    expect: { endpoints: [3, 3, 3, 3, 3, 3] },
  },
  {
    name: "a forged pin that the filter removes is gone",
    setup: { probe: "strip=1" },
    async run(world) {
      const headers = { "x-smetric-endpoint": pin(world.address(3)) };
      const seen = await world.ask({ headers });
      return { header: seen.upstreamHeaders["x-smetric-endpoint"] !== undefined };
    },
    expect: { header: false },
  },
  {
    name: "a pin to an endpoint that fails its health checks is not obeyed",
    setup: { probe: HOLDING, healthChecks: true },
    async run(world) {
      await world.fail(2);
      const endpoints = await places(world, { want: 2 }, 12);
      return { answered: !endpoints.includes(-1), obeyed: endpoints.includes(2) };
    },
    expect: { answered: true, obeyed: false },
  },
  {
    name: "a pin to a dead endpoint is retried elsewhere",
    setup: { probe: HOLDING, dead: [2] },
    async run(world) {
      const seen = await world.ask({ want: 2, body: kib(1) });
      const attempts = Number(/attempts=(\d+)/.exec(seen.events)?.[1]);
      const served = new RegExp(`address=@${seen.endpoint} `).test(seen.events);
      return { status: seen.status, intact: seen.intact, retried: attempts > 1, served };
    },
    expect: { status: 200, intact: true, retried: true, served: true },
  },
  {
    name: "without retries a dead endpoint is a 503 that names it",
    setup: { probe: HOLDING, dead: [2], retries: false },
    async run(world) {
      const { status, events } = await world.ask({ want: 2, body: kib(1) });
      const details = detailsOf(events).split("{")[0];
      return { status, details, tail: / flags=32 address=@2 attempts=1 D X$/.test(events) };
    },
    expect: { status: 503, details: "upstream_reset_before_response_started", tail: true },
  },
  {
    name: "a body beyond the limit cannot be retried",
    setup: { probe: `headers=1;body=2;pin=header;cap=65536`, dead: [2] },
    async run(world) {
      const { status } = await world.ask({ want: 2, body: kib(3 * 1024) });
      return { status };
    },
    expect: { status: 503 },
  },
  {
    name: "a raised route limit lets a large body be retried",
    setup: {
      probe: "headers=1;body=2;pin=header;cap=65536",
      dead: [2],
      routeBodyBytes: 8 * 1024 * 1024,
    },
    async run(world) {
      const { status, intact } = await world.ask({ want: 2, body: kib(3 * 1024) });
      return { status, intact };
    },
    expect: { status: 200, intact: true },
  },
  {
    name: "least request sees the load of pinned requests",
    setup: { probe: HOLDING },
    async run(world) {
      const hold: Ask = { answer: { chunks: ["data"], then: "hold" } };
      const pinned = [];
      for (let index = 0; index < 5; index++) pinned.push(await world.start({ ...hold, want: 0 }));
      const others = [];
      for (let index = 0; index < 9; index++) others.push(await world.start(hold));
      const placed = others.map((running) => running.endpoint).sort();
      for (const running of [...pinned, ...others]) await running.finish();
      return { placed };
    },
    expect: { placed: [1, 1, 1, 2, 2, 2, 3, 3, 3] },
  },
  obeyed(
    "filter state becomes a pin without the flag",
    { probe: STATE, chain: "filter_state", flag: false },
    { body: kib(300) },
  ),
  obeyed(
    "filter state becomes a pin within small limits",
    {
      probe: STATE,
      chain: "filter_state",
      flag: false,
      connectionBytes: 32 * 1024,
      http2WindowBytes: 64 * 1024,
    },
    { body: kib(300), protocol: "http2" },
  ),
  ignored(
    "filter state comes too late without the buffer filter",
    { probe: STATE, chain: "no_buffer", flag: false },
    (world) => pin(world.address(2)),
    { body: kib(300) },
  ),
  {
    name: "unset filter state writes no header, so a forged one survives",
    setup: { probe: STATE, chain: "filter_state", flag: false },
    async run(world) {
      const headers = { "x-smetric-endpoint": pin(world.address(1)) };
      return { endpoints: await places(world, { headers, body: "a" }) };
    },
    expect: { endpoints: [1, 1, 1, 1, 1, 1] },
  },
  {
    name: "override_host takes the first known endpoint of its list",
    setup: OVERRIDE,
    run: async (world) => ({
      endpoints: [
        ...(await places(world, { wantText: world.address(1) }, 3)),
        ...(await places(world, { wantText: `127.0.0.1:9, ${world.address(3)}` }, 3)),
      ],
    }),
    expect: { endpoints: [1, 1, 1, 3, 3, 3] },
  },
  ignored("override_host does not read base64", OVERRIDE, (world) => pin(world.address(2))),
  {
    name: "override_host chooses an endpoint that fails its health checks",
    setup: { ...OVERRIDE, healthChecks: true },
    async run(world) {
      await world.fail(2);
      return { endpoints: await places(world, { wantText: world.address(2) }) };
    },
    expect: { endpoints: [2, 2, 2, 2, 2, 2] },
  },
  {
    name: "override_host goes on to the next of its list when the first is dead",
    setup: { ...OVERRIDE, dead: [0] },
    async run(world) {
      const wantText = `${world.address(0)},${world.address(3)}`;
      return { endpoints: await places(world, { wantText }) };
    },
    expect: { endpoints: [3, 3, 3, 3, 3, 3] },
  },
  {
    name: "a header that is set in the last body call changes the route",
    setup: { probe: "headers=1;body=2;turn=1", splitByTurn: true },
    async run(world) {
      const first = await places(world, { body: kib(1), headers: { "x-turn": "1" } }, 4);
      const follow = await places(world, { body: kib(1), headers: { "x-turn": "2" } }, 4);
      return { first: first.every((at) => at < 2), follow: follow.every((at) => at >= 2) };
    },
    expect: { first: true, follow: true },
  },
];
