// SPDX-License-Identifier: Apache-2.0
// Anthropic Messages through Anthropic's own client: tools, streams, and usage of the uncached part.
import assert from "node:assert/strict";
import { test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { type MockGpu } from "../../../../lab/mock-gpu/http/server.ts";
import { eventData, type Json, longText, post, withGpu } from "./client.ts";

const TOOLS: Anthropic.Tool[] = [
  {
    name: "read_file",
    description: "Reads a file",
    input_schema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  },
];

function clientOf(gpu: MockGpu): Anthropic {
  return new Anthropic({ baseURL: gpu.url, apiKey: "none", maxRetries: 0 });
}

test("a tool conversation is cached from turn to turn, and input_tokens is the uncached part", async () => {
  await withGpu({}, async (gpu) => {
    const client = clientOf(gpu);
    const messages: Anthropic.MessageParam[] = [{ role: "user", content: "read a.ts" }];
    const headers = { "x-mock-tool-rounds": "2" };
    let before = 0;
    for (let round = 0; round < 6; round++) {
      const params = {
        model: "mock",
        max_tokens: 500,
        system: [{ type: "text" as const, text: longText(200, 1) }],
        messages,
        tools: TOOLS,
      };
      const message =
        round % 2 === 0
          ? await client.messages.create(params, { headers })
          : await client.messages.stream(params, { headers }).finalMessage();
      const cached = message.usage.cache_read_input_tokens ?? 0;
      const prompt = message.usage.input_tokens + cached;
      assert.equal(prompt, gpu.recorder.requests.at(-1)?.prompt_tokens);
      if (round > 0) assert.ok(cached > before - 18 && cached <= before, `${cached} of ${before}`);
      before = prompt + message.usage.output_tokens;
      messages.push({ role: "assistant", content: message.content });
      const results = message.content
        .filter((block) => block.type === "tool_use")
        .map(({ id }) => ({ type: "tool_result" as const, tool_use_id: id, content: "export {}" }));
      assert.equal(message.stop_reason, results.length > 0 ? "tool_use" : "end_turn");
      messages.push({ role: "user", content: results.length > 0 ? results : "and b.ts?" });
    }
  });
});

test("a stream opens, fills and closes one block after the other", async () => {
  await withGpu({}, async (gpu) => {
    const answer = {
      content: "I read.",
      tool_calls: [{ name: "read_file", arguments: '{"path": "a"}' }],
    };
    const body = {
      model: "mock",
      max_tokens: 100,
      stream: true,
      messages: [{ role: "user", content: "x" }],
      mock_answer: answer,
    };
    const reply = await post(gpu, "/v1/messages", body);
    const events = eventData(reply.text) as Json[];
    assert.deepEqual(
      events.map(({ type }) => type).filter((type) => type !== "content_block_delta"),
      [
        "message_start",
        "content_block_start",
        "content_block_stop",
        "content_block_start",
        "content_block_stop",
        "message_delta",
        "message_stop",
      ],
    );
    const deltas = events.filter(({ type }) => type === "content_block_delta");
    const json = deltas
      .map(({ delta }) => (delta as Json)["partial_json"])
      .filter((piece) => typeof piece === "string")
      .join("");
    assert.equal(json, '{"path":"a"}');
    assert.ok(!reply.text.includes("[DONE]"));
  });
});

test("without reports the cache keys are absent and input_tokens is the whole prompt", async () => {
  await withGpu({ promptTokensDetails: false }, async (gpu) => {
    const body = {
      model: "mock",
      max_tokens: 3,
      messages: [{ role: "user", content: longText(64, 1) }],
    };
    await post(gpu, "/v1/messages", body);
    const { json } = await post(gpu, "/v1/messages", body);
    const usage = json["usage"] as Json;
    assert.ok(!("cache_read_input_tokens" in usage));
    assert.equal(usage["input_tokens"], gpu.recorder.requests.at(-1)?.prompt_tokens);
    assert.equal(json["stop_reason"], "max_tokens");
  });
});

test("tokens added to the cache are reported on demand, as vLLM 0.32 does", async () => {
  await withGpu({ reportCreatedTokens: true }, async (gpu) => {
    const messages = [{ role: "user", content: longText(64, 1) }];
    const usages: Json[] = [];
    for (let i = 0; i < 2; i++) {
      const { json } = await post(gpu, "/v1/messages", { model: "mock", max_tokens: 3, messages });
      usages.push(json["usage"] as Json);
    }
    const whole = Math.floor((gpu.recorder.requests[0]?.prompt_tokens ?? 0) / 16) * 16;
    const [cold, warm] = usages;
    assert.equal(cold?.["cache_creation_input_tokens"], whole);
    assert.equal(cold?.["cache_read_input_tokens"], 0);
    assert.equal(warm?.["cache_read_input_tokens"], whole);
    assert.equal(warm?.["cache_creation_input_tokens"], 0);
    assert.equal(cold?.["input_tokens"], warm?.["input_tokens"]);
  });
});

test("tokens are counted without generating", async () => {
  await withGpu({}, async (gpu) => {
    const params = { model: "mock", messages: [{ role: "user" as const, content: "hello you" }] };
    const { input_tokens: counted } = await clientOf(gpu).messages.countTokens(params);
    await clientOf(gpu).messages.create({ ...params, max_tokens: 3 });
    assert.equal(counted, gpu.recorder.requests.at(-1)?.prompt_tokens);
    assert.equal(gpu.engine.counters.submitted, 1);
  });
});

test("errors have Anthropic's shape", async () => {
  await withGpu({}, async (gpu) => {
    const { status, json } = await post(gpu, "/v1/messages", { model: "mock" });
    assert.equal(status, 400);
    assert.equal(json["type"], "error");
    assert.equal((json["error"] as Json)["type"], "invalid_request_error");
  });
});
