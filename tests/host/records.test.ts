// SPDX-License-Identifier: Apache-2.0
// The record of a request: its own, and with hashes that tell nobody anything without the seed.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  CHAT_PATH,
  Conversation,
  converse,
  ENDPOINTS,
  recordOf,
  settle,
  startGateway,
  TARGETS,
} from "./harness.ts";

interface HashedRecord {
  session_key: string;
  model: string;
  head: string;
}

/** A last answer: its session keeps no place in admission. */
const STOPPED = {
  headers: { "content-type": "application/json" },
  chunks: [
    JSON.stringify({
      choices: [{ message: { role: "assistant", content: "a" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 1_500, completion_tokens: 4 },
    }),
  ],
};

function long(name: string): Conversation {
  return new Conversation(name).ask(`some words of ${name} `.repeat(300));
}

for (const target of TARGETS) {
  describe(`Records of the ${target} module`, () => {
    it("stay with their streams where the end of one lets another go", async () => {
      const admission = { enabled: true, capacity_tokens: 4_000, hold_limit_ms: 0 };
      const envoy = await startGateway({
        target,
        workers: 1,
        endpoints: ENDPOINTS.slice(0, 1),
        configuration: { record: true, admission },
      });
      converse(envoy, long("warm"), { response: STOPPED });
      envoy.tick(2_000);
      const open = ["a", "b", "c"].map((name) =>
        envoy.send({ path: CHAT_PATH, body: long(name).body(), response: false }),
      );
      assert.ok(open.some((stream) => stream.held));
      for (const stream of open) {
        if (stream.held) envoy.tick(1_000);
        stream.respond(STOPPED);
        const seen = envoy.observe(stream);
        const session = seen.upstreamHeaders?.["x-smetric-session"];
        assert.equal((recordOf(seen) as HashedRecord).session_key, session);
        envoy.tick(1_000);
      }
    });

    it("hash model and head with the seed, and a head with the tenant", async () => {
      const of = async (seed: string, tenant: string): Promise<HashedRecord> => {
        const configuration = { record: true, hash_seed: seed, tenant_header: "x-tenant" };
        const envoy = await startGateway({ target, configuration });
        const headers = { "x-tenant": tenant };
        const seen = converse(envoy, new Conversation("a", "A secret."), { headers });
        return recordOf(seen) as HashedRecord;
      };
      const record = await of("one", "A");
      const ofOther = await of("one", "B");
      const ofSeed = await of("two", "A");
      assert.deepEqual(await of("one", "A").then(({ head }) => head), record.head);
      assert.equal(ofOther.model, record.model);
      assert.notEqual(ofOther.head, record.head);
      assert.notEqual(ofSeed.head, record.head);
      assert.notEqual(ofSeed.model, record.model);
    });

    it("go with a counter that has a reason for every stream", async () => {
      const envoy = await startGateway({ target });
      envoy.request({ path: "/v1/models" });
      envoy.request({ path: CHAT_PATH, body: '{"model":"m","prompt":"Hi"}' });
      converse(envoy, new Conversation("a"));
      settle(envoy);
      const count = (reason: string): number =>
        envoy.metrics.read(`smetric_decisions.reason.${reason}`);
      assert.deepEqual([count("none"), count("first_turn")], [2, 1]);
    });
  });
}
