// SPDX-License-Identifier: Apache-2.0
// Contract situations: answers to odd questions, shared values, metrics, side calls.
import { HOLDING, kib, requestCalls } from "./bodies.ts";
import type { Situation, World } from "./world.ts";

/** What the probe noted before its header callback returned. */
async function answers(world: World): Promise<object> {
  const { events } = await world.ask({});
  return { answers: events.split(" H(1)")[0] };
}

export const EDGE_SITUATIONS: Situation[] = [
  {
    name: "maps, buffers and contexts that do not exist are refused with the right status",
    setup: { probe: "edges=maps" },
    run: answers,
    expect: {
      answers:
        "maps pairs=0 value=2 absent=1 size=2 write=2 body=0 config=1 foreign=1 context=2 property=!12",
    },
  },
  {
    name: "shared values carry versions, and a stale one is refused",
    setup: { probe: "edges=shared" },
    run: answers,
    expect: { answers: "shared missing=1 set=0 versioned=true stale=8 right=0 again=8" },
  },
  {
    name: "gauges wrap below zero, and counters only grow",
    setup: { probe: "edges=metrics" },
    run: answers,
    expect: {
      answers: "metrics counter=0 zero=2 below=18446744073709551615 unknown=1 kind=2",
    },
  },
  {
    name: "a side call may decide a held request",
    setup: { probe: `${HOLDING};call=llm` },
    async run(world) {
      const seen = await world.ask({ body: kib(100), want: 2 });
      const { status, endpoint, intact } = seen;
      return { status, endpoint, intact, calls: requestCalls(seen.events) };
    },
    expect: {
      status: 200,
      endpoint: 2,
      intact: true,
      calls: "H(0)=1 B=2 call=0 B.=2 effective=0 answered=true set=0 continue=0 late=2",
    },
  },
  {
    name: "a side call to an unknown cluster is refused at once",
    setup: { probe: `${HOLDING};call=nobody` },
    async run(world) {
      const seen = await world.ask({ body: kib(1), want: 1 });
      return { status: seen.status, calls: requestCalls(seen.events) };
    },
    expect: { status: 200, calls: "H(0)=1 B=2 call=2 set=0 B.=0" },
  },
];
