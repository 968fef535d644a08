// SPDX-License-Identifier: Apache-2.0
// Observing changes nothing in the traffic: no header, no hold; one record a request, in hashes and numbers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ENVOY_VERSION, OLDER_ENVOY_VERSION } from "../../envoy/find-envoy.ts";
import { send, takeTurn } from "./harness/client.ts";
import { Conversation } from "./harness/conversation.ts";
import { completion, sha256 } from "./harness/endpoint.ts";
import { countsAreGiven, outcomes, startFleet, until } from "./harness/fleet.ts";
import { on } from "./harness/ways.ts";

const SESSIONS = 8;
const TURNS = 3;
const SECRET = "nobody logs this text";

interface LogRecord {
  turn: number;
  verified_turn: number;
  outcome: string;
  session_key: string;
  endpoint: string;
}

/** Follow-ups whose endpoint had served no turn of their session. */
function coldFollowUps(records: readonly LogRecord[]): number {
  const served = new Map<string, Set<string>>();
  let cold = 0;
  for (const { session_key, turn, endpoint } of records) {
    const endpoints = served.get(session_key) ?? new Set();
    if (turn > 1 && !endpoints.has(endpoint)) cold++;
    served.set(session_key, endpoints.add(endpoint));
  }
  return cold;
}

const WAYS = [
  { bootstrap: "observe", version: ENVOY_VERSION },
  { bootstrap: "observe", version: OLDER_ENVOY_VERSION },
  { bootstrap: "rendered/istio-observe", version: ENVOY_VERSION },
  { bootstrap: "rendered/envoy-gateway-observe", version: ENVOY_VERSION },
];

for (const way of WAYS) {
  test(on(way, "nothing is changed, everything is counted and recorded"), async (t) => {
    const fleet = await startFleet(t, way);
    for (let index = 0; index < SESSIONS; index++) {
      const session = new Conversation(`${SECRET} ${index}`);
      for (let turn = 1; turn <= TURNS; turn++) {
        const body = session.body();
        const reply = await takeTurn(fleet.envoy.url, session, "go on");
        assert.equal(reply.status, 200);
        assert.ok(fleet.exchanges.some((exchange) => exchange.bodySha256 === sha256(body)));
        const own = Object.keys(reply.headers).filter((name) => name.startsWith("x-smetric"));
        assert.deepEqual(own, []);
      }
    }
    for (const { headers } of fleet.exchanges) {
      assert.deepEqual(
        Object.keys(headers).filter((name) => name.startsWith("x-smetric")),
        [],
      );
    }

    await until("all are counted", async () => {
      return (await outcomes(fleet))["conversation"] === SESSIONS * TURNS;
    });
    const stats = await fleet.envoy.stats("^wasmcustom\\.smetric_(follow_ups|pins)");
    assert.equal(stats["wasmcustom.smetric_follow_ups"], SESSIONS * (TURNS - 1));
    assert.equal(stats["wasmcustom.smetric_pins.result.set"], 0);

    const readRecords = (): LogRecord[] =>
      fleet.envoy
        .log()
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .map((line) => JSON.parse(line) as LogRecord);
    await until("all are logged", () => readRecords().length === SESSIONS * TURNS);
    for (let turn = 1; turn <= TURNS; turn++) {
      const records = readRecords().filter((record) => record.turn === turn);
      assert.equal(records.length, SESSIONS);
      for (const record of records) {
        assert.equal(record.outcome, "conversation");
        assert.equal(record.verified_turn, turn);
        assert.match(record.session_key, /^[0-9a-f]{16}$/);
        assert.ok(fleet.endpointAt(record.endpoint));
      }
    }
    assert.equal(fleet.envoy.log().includes(SECRET), false);
    const counted = await fleet.envoy.stats("^wasmcustom\\.smetric_(cold|recomputed)");
    assert.equal(counted["wasmcustom.smetric_cold_follow_ups"], coldFollowUps(readRecords()));
    assert.ok((counted["wasmcustom.smetric_recomputed_tokens"] ?? 0) > 0);
  });

  test(on(way, "a long body is not waited for"), async (t) => {
    const fleet = await startFleet(t, { ...way, size: 1 });
    const session = new Conversation("begin");
    session.goOn("ok", "x".repeat(20_000_000));
    const reply = await send(fleet.envoy.url, session.body());
    assert.equal(reply.status, 200);
    assert.equal(fleet.exchanges[0]?.bodySha256, sha256(session.body()));
  });
}

test("observe: whom admission would hold is counted, and nobody waits", async (t) => {
  const waiting: (() => void)[] = [];
  let holds = false;
  const fleet = await startFleet(t, {
    ...{ bootstrap: "observe", size: 1, concurrency: 1 },
    configuration: { admission: { enabled: true, dry_run: true, capacity_tokens: 6_000 } },
    answer: async (exchange, response) => {
      const text = JSON.stringify(completion(exchange, 1));
      response.writeHead(200, { "content-type": "application/json" });
      response.write(text.slice(0, 1)); // Observing, the filter learns from the head who serves.
      if (holds) await new Promise<void>((resolve) => waiting.push(resolve));
      response.end(text.slice(1));
    },
  });
  // The endpoint becomes known.
  assert.equal((await send(fleet.envoy.url, new Conversation("Hello").body())).status, 200);
  holds = true;
  const replies: ReturnType<typeof send>[] = [];
  for (let index = 0; index < 3; index++) {
    const session = new Conversation(`${index}: ${"word ".repeat(4_000)}`);
    replies.push(send(fleet.envoy.url, session.body()));
    await until("it is served", () => waiting.length === index + 1);
  }
  for (const goOn of waiting) goOn();
  for (const { status } of await Promise.all(replies)) assert.equal(status, 200);
  await countsAreGiven(fleet);
  const stats = await fleet.envoy.stats("^wasmcustom\\.smetric_admission");
  assert.ok((stats["wasmcustom.smetric_admission.result.would_hold"] ?? 0) > 0);
  assert.equal(stats["wasmcustom.smetric_admission.result.held"], 0);
});
