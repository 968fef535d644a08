// SPDX-License-Identifier: Apache-2.0
// Calls into the host are most of what a request costs: how many a follow-up makes, and what is asked for all the same.
import assert from "node:assert/strict";
import { it } from "node:test";
import type { Observation, VirtualEnvoy } from "../../lab/virtual-envoy/index.ts";
import {
  CHAT_PATH,
  Conversation,
  converse,
  ENDPOINTS,
  type GatewayOptions,
  settle,
  startGateway,
} from "./harness.ts";

/** Reads of headers and bodies, two each; the clock; six headers; of the table one read and one write. */
const MOST_CALLS = 13;
const FOLLOW_UPS = 40;
const PIN_HEADER = "x-smetric-endpoint";

const JSON_ANSWER = {
  headers: { "content-type": "application/json" },
  chunks: [
    JSON.stringify({
      choices: [{ index: 0, message: { role: "assistant", content: "Done." } }],
      usage: { prompt_tokens: 100, prompt_tokens_details: { cached_tokens: 90 } },
    }),
  ],
};

function callsOf(envoy: VirtualEnvoy, work: () => void): Map<string, number> {
  const before = new Map(envoy.hostCalls);
  work();
  const made = [...envoy.hostCalls].map(([name, count]): [string, number] => {
    return [name, count - (before.get(name) ?? 0)];
  });
  return new Map(made.filter(([, count]) => count > 0));
}

async function startCounted(options: GatewayOptions = {}): Promise<VirtualEnvoy> {
  return startGateway({ trace: false, countHostCalls: true, ...options });
}

function follow(envoy: VirtualEnvoy, session: Conversation): void {
  envoy.request({ path: CHAT_PATH, body: session.body(), response: JSON_ANSWER });
}

/** Sessions that took nine turns, after everything was looked up that is looked up now and then. */
function warmUp(envoy: VirtualEnvoy): Conversation[] {
  const sessions = Array.from({ length: FOLLOW_UPS + 1 }, (_, index) => {
    return new Conversation(`session ${index}`);
  });
  for (let turn = 1; turn <= 9; turn++) {
    for (const session of sessions) {
      converse(envoy, session, { response: JSON_ANSWER });
      session.next(turn);
    }
  }
  settle(envoy);
  return sessions;
}

it("a follow-up makes few calls, and its counts wait for the tick", async () => {
  const envoy = await startCounted();
  const [first, second] = warmUp(envoy);
  follow(envoy, first!);
  const calls = callsOf(envoy, () => follow(envoy, second!));
  const total = [...calls.values()].reduce((sum, count) => sum + count, 0);
  assert.ok(total <= MOST_CALLS, JSON.stringify([...calls]));
  assert.equal(calls.get("proxy_increment_metric"), undefined);
  const given = callsOf(envoy, () => settle(envoy));
  assert.ok((given.get("proxy_increment_metric") ?? 0) > 0);
});

it("many follow-ups between two ticks are counted together", async () => {
  const envoy = await startCounted();
  for (const session of warmUp(envoy).slice(1)) follow(envoy, session);
  const given = callsOf(envoy, () => settle(envoy));
  const [counts, writes] = ["proxy_increment_metric", "proxy_set_shared_data"];
  assert.ok((given.get(counts) ?? 0) < FOLLOW_UPS, JSON.stringify([...given]));
  assert.ok((given.get(writes) ?? 0) < 8, JSON.stringify([...given]));
  assert.equal(envoy.metrics.read("smetric_follow_ups"), FOLLOW_UPS + 8 * (FOLLOW_UPS + 1));
});

it("admission adds no call to a follow-up that goes on at once", async () => {
  const open = async (enabled: boolean) => {
    const envoy = await startCounted({ configuration: { admission: { enabled } } });
    const sessions = warmUp(envoy);
    follow(envoy, sessions[0]!);
    const calls = callsOf(envoy, () => sessions.slice(1).forEach((each) => follow(envoy, each)));
    return { envoy, calls };
  };
  const [off, on] = [await open(false), await open(true)];
  assert.deepEqual(on.calls, off.calls);
  const given = callsOf(on.envoy, () => settle(on.envoy));
  assert.ok((given.get("proxy_set_shared_data") ?? 0) < 20, JSON.stringify([...given]));
});

it("a route to a second cluster is asked for its own", async () => {
  const envoy = await startCounted({
    clusters: [
      { name: "large", endpoints: ENDPOINTS.slice(0, 2) },
      { name: "small", endpoints: ENDPOINTS.slice(2) },
    ],
    routes: [{ cluster: "small", headers: { "x-size": "small" } }, { cluster: "large" }],
  });
  const small = { headers: { "x-size": "small" } };
  const sessions = Array.from({ length: 12 }, (_, index) => new Conversation(`session ${index}`));
  for (let turn = 1; turn <= 4; turn++) {
    for (const [index, session] of sessions.entries()) {
      const { endpoint } = converse(envoy, session, index % 2 === 0 ? {} : small);
      assert.equal(ENDPOINTS.slice(0, 2).includes(endpoint ?? ""), index % 2 === 0);
      session.next(turn);
    }
  }
  const slots = [...envoy.metrics.gauges.keys()].filter((name) => name.includes("in_flight"));
  for (const cluster of ["large", "small"]) {
    const known = slots.filter((name) => name.includes(`.fleet.${cluster}.`));
    assert.ok(known.length >= 1 && known.length <= 2, JSON.stringify(slots));
  }
});

/** Where Envoy was told to send a request. */
function pinOf({ upstreamHeaders }: Observation): string | undefined {
  const pin = upstreamHeaders?.[PIN_HEADER];
  return pin === undefined ? undefined : Buffer.from(pin, "base64").toString();
}

it("an upstream that speaks like stateful_session is not believed for longer than a tick", async () => {
  // No filter obeys the pin here: only look-ups tell who answered.
  const envoy = await startCounted({ chain: "wasm_only", configuration: { policy: "sticky" } });
  const forged = { headers: { "content-type": "application/json", [PIN_HEADER]: "bGll" } };
  let elsewhere = 0;
  for (let index = 0; index < 120; index++) {
    const session = new Conversation(`session ${index}`);
    converse(envoy, session, { response: forged });
    const seen = envoy.request({ path: CHAT_PATH, body: session.next(1).body() });
    const pin = pinOf(seen);
    if (pin !== undefined && pin !== seen.endpoint) elsewhere++;
  }
  settle(envoy);
  const moved = envoy.metrics.read("smetric_pins.result.moved") ?? 0;
  assert.ok(elsewhere > 40);
  assert.ok(moved >= 0.9 * elsewhere, `${moved} of ${elsewhere} were noticed`);
});

it("a worker whose pins are all obeyed asks who answered once a tick", async () => {
  // The second worker finds a fleet that is complete: it pins every request, and stateful_session has nothing to say.
  const envoy = await startCounted({ workers: 2 });
  const sendAll = (worker: number, count: number): void => {
    for (let index = 0; index < count; index++) {
      const body = new Conversation(`session ${worker} ${index}`).next(1).body();
      envoy.request({ path: CHAT_PATH, body, response: JSON_ANSWER, worker });
    }
  };
  sendAll(0, FOLLOW_UPS);
  settle(envoy);
  sendAll(1, FOLLOW_UPS);
  const calls = callsOf(envoy, () => sendAll(1, FOLLOW_UPS));
  assert.ok((calls.get("proxy_get_property") ?? 0) < 10, JSON.stringify([...calls]));
});
