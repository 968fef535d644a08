// SPDX-License-Identifier: Apache-2.0
// Which headers the filter writes, and which it lets nobody else write.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  CHAT_PATH,
  Conversation,
  converse,
  ENDPOINTS,
  recordOf,
  startGateway,
  TARGETS,
} from "./harness.ts";

const pinTo = (address: string): string => Buffer.from(address).toString("base64");

const FORGED = {
  "x-smetric-turn": "9",
  "x-smetric-verified-turn": "9",
  "x-smetric-session": "forged",
  "x-smetric-prefix-tokens": "9",
  "x-smetric-decision": "home",
  "x-smetric-endpoint": pinTo(ENDPOINTS[3]!),
  "x-smetric-other": "1",
};

for (const target of TARGETS) {
  describe(`Headers of the ${target} module`, () => {
    it("strips what clients forge from requests that are read and from those that pass", async () => {
      const envoy = await startGateway({ target });
      const read = converse(envoy, new Conversation("a"), { headers: FORGED });
      assert.equal(read.upstreamHeaders?.["x-smetric-turn"], "1");
      assert.equal(read.upstreamHeaders?.["x-smetric-other"], undefined);
      const passed = envoy.request({ path: "/v1/models", headers: FORGED });
      for (const name of Object.keys(FORGED)) {
        assert.equal(passed.upstreamHeaders?.[name], undefined, name);
      }
    });

    it("names nothing but the endpoint where the operator wants no decision headers", async () => {
      const quiet = { decision_headers: false };
      const envoy = await startGateway({ target, configuration: quiet });
      const session = new Conversation("a");
      const home = converse(envoy, session).endpoint!;
      const { endpoint, upstreamHeaders = {} } = converse(envoy, session.next(1), {
        headers: FORGED,
      });
      assert.equal(endpoint, home);
      const own = Object.entries(upstreamHeaders).filter(([name]) => name.startsWith("x-smetric-"));
      assert.deepEqual(own, [["x-smetric-endpoint", pinTo(home)]]);
      const routed = await startGateway({
        target,
        configuration: { ...quiet, steering: "hash" },
        chain: "wasm_only",
      });
      const first = converse(routed, new Conversation("b"));
      assert.equal(first.upstreamHeaders?.["x-smetric-turn"], "1");
    });

    it("leaves nothing of one stream in the record of the next", async () => {
      const envoy = await startGateway({ target, configuration: { record: true } });
      converse(envoy, new Conversation("a"));
      converse(envoy, new Conversation("b"));
      const passed = envoy.request({ path: "/v1/models" });
      assert.deepEqual(
        Object.entries(recordOf(passed)).filter(([name]) =>
          /outcome|dialect|turn|end_byte|tokens|duration|pinned/.test(name),
        ),
        Object.entries({
          duration_ms: null,
          outcome: "passed",
          dialect: "none",
          turn: 0,
          verified_turn: 0,
          last_model_end_byte: -1,
          prefix_tokens: 0,
          prompt_tokens: 0,
          reported_prompt_tokens: null,
          cached_tokens: null,
          output_tokens: null,
          head_tokens: 0,
          pinned: false,
        }),
      );
    });

    it("strips a forged header that is repeated many times", async () => {
      const envoy = await startGateway({ target });
      const headers = Array.from({ length: 90 }, (_, index): [string, string] => [
        index % 2 === 0 ? "x-smetric-endpoint" : `X-SMetric-Extra-${index}`,
        pinTo(ENDPOINTS[index % 4]!),
      ]);
      const { upstreamHeaders } = envoy.request({ path: "/v1/models", headers });
      const left = Object.keys(upstreamHeaders ?? {}).filter((name) =>
        name.startsWith("x-smetric"),
      );
      assert.deepEqual(left, []);
    });

    it("takes a tenant for the same however many headers it forges", async () => {
      const configuration = { tenant_header: "x-tenant" };
      const envoy = await startGateway({ target, configuration });
      const conversation = new Conversation("a");
      const tenant: [string, string] = ["x-tenant", "A"];
      converse(envoy, conversation, { headers: [tenant] });
      const forged = Array.from({ length: 64 }, (_, index): [string, string] => [
        `x-smetric-f${index}`,
        "1",
      ]);
      const seen = converse(envoy, conversation.next(1), { headers: [tenant, ...forged] });
      assert.equal(seen.upstreamHeaders?.["x-smetric-decision"], "home");
    });

    it("lets no client name the prefill endpoint", async () => {
      const name = "x-prefiller-host-port";
      const configuration = { prefill_header: name, prefill_endpoints: ["10.9.0.1:8000"] };
      const envoy = await startGateway({ target, chain: "wasm_only", configuration });
      const headers = { [name]: "6.6.6.6:666" };
      for (const body of ['{"model":"m"}', '{"model":"m","prompt":"hi"}', "no JSON"]) {
        const seen = envoy.request({ path: CHAT_PATH, headers, body });
        assert.notEqual(seen.upstreamHeaders?.[name], headers[name], body);
      }
      const decided = converse(envoy, new Conversation("a"), { headers });
      assert.equal(decided.upstreamHeaders?.[name], "10.9.0.1:8000");
    });

    it("lets trailers say nothing in its name, nor a priority", async () => {
      const configuration = { priority: { scheme: "plas" } };
      const envoy = await startGateway({ target, configuration });
      const stream = envoy.send({
        path: CHAT_PATH,
        chunks: [new Conversation("a").body()],
        protocol: "http2",
        trailers: { "x-vllm-priority": "-100", "x-smetric-turn": "9", "x-sum": "1" },
        response: { trailers: { "x-smetric-decision": "home", "x-ok": "1" } },
      });
      assert.deepEqual(envoy.observe(stream).upstreamTrailers, { "x-sum": "1" });
      assert.deepEqual(stream.responseTrailers?.toObject(), { "x-ok": "1" });
    });

    it("lets nothing forged stand beside or instead of the decision", async () => {
      const envoy = await startGateway({ target });
      const forged = Object.keys(FORGED).flatMap((name): [string, string][] => [
        [name, "forged"],
        [name, "forged again"],
      ]);
      const headers: [string, string][] = [["content-type", "application/json"], ...forged];
      const conversation = JSON.stringify({ messages: [{ role: "user", content: "Hi" }] });
      for (const body of [conversation, "{}", "no JSON", "", '{"messages":[{"role":"user"']) {
        const { upstreamHeaders = {} } = envoy.request({ path: CHAT_PATH, headers, body });
        const left = Object.values(upstreamHeaders).filter((value) => value.includes("forged"));
        assert.deepEqual(left, [], body);
        assert.equal(upstreamHeaders["x-smetric-turn"], body === conversation ? "1" : undefined);
      }
    });

    it("tells the endpoint what it decided, and the client nothing", async () => {
      const envoy = await startGateway({ target });
      const conversation = new Conversation("a");
      converse(envoy, conversation);
      const answer = { headers: { "x-smetric-decision": "upstream speaks", "x-other": "1" } };
      const seen = converse(envoy, conversation.next(1), { response: answer });
      assert.equal(seen.upstreamHeaders?.["x-smetric-decision"], "home");
      assert.equal(seen.upstreamHeaders?.["x-smetric-verified-turn"], "2");
      const names = Object.keys(seen.responseHeaders);
      assert.deepEqual(
        names.filter((name) => name.startsWith("x-smetric")),
        [],
      );
      assert.equal(seen.responseHeaders["x-other"], "1");
    });

    it("tells the client when the operator says so", async () => {
      const envoy = await startGateway({ target, configuration: { expose_decision: true } });
      const seen = converse(envoy, new Conversation("a"));
      assert.equal(seen.responseHeaders["x-smetric-decision"], "first_turn");
      assert.equal(seen.responseHeaders["x-smetric-endpoint"], undefined);
    });

    it("writes nothing and holds nothing in observe mode", async () => {
      const configuration = { mode: "observe", expose_decision: true };
      const envoy = await startGateway({ target, configuration });
      const answered = converse(envoy, new Conversation("a"));
      assert.equal(answered.responseHeaders["x-smetric-turn"], undefined);
      const stream = envoy.openStream({ path: CHAT_PATH });
      assert.equal(stream.held, false);
      stream.sendChunk(new Conversation("a").body(), true);
      const written = Object.keys(stream.upstream!.headers.toObject());
      assert.deepEqual(
        written.filter((name) => name.startsWith("x-smetric")),
        [],
      );
      stream.respond();
    });
  });
}
