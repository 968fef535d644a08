// SPDX-License-Identifier: Apache-2.0
// The Responses API through OpenAI's own client: tools, streams, and a store that lives in one process.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";
import { type MockGpu } from "../../../../lab/mock-gpu/http/server.ts";
import { eventData, type Json, longText, post, send, withGpu } from "./client.ts";

const TOOLS: OpenAI.Responses.Tool[] = [
  {
    type: "function",
    name: "run",
    description: "Runs a command",
    parameters: { type: "object", properties: { command: { type: "string" } } },
    strict: false,
  },
];

function clientOf(gpu: MockGpu): OpenAI {
  return new OpenAI({ baseURL: `${gpu.url}/v1`, apiKey: "none", maxRetries: 0 });
}

test("a tool conversation with resent history is cached from turn to turn", async () => {
  await withGpu({}, async (gpu) => {
    const client = clientOf(gpu);
    const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "list the files" }];
    const headers = { "x-mock-tool-rounds": "2" };
    const cached: number[] = [];
    for (let round = 0; round < 5; round++) {
      const params = { model: "mock", instructions: longText(200, 1), input, tools: TOOLS };
      const response =
        round % 2 === 0
          ? await client.responses.create(params, { headers })
          : await client.responses.stream(params, { headers }).finalResponse();
      assert.equal(response.status, "completed");
      cached.push(response.usage?.input_tokens_details.cached_tokens ?? -1);
      input.push(...(response.output as OpenAI.Responses.ResponseInputItem[]));
      for (const item of response.output) {
        if (item.type !== "function_call") continue;
        assert.equal(typeof (JSON.parse(item.arguments) as Json)["command"], "string");
        input.push({ type: "function_call_output", call_id: item.call_id, output: "a.ts b.ts" });
      }
      if (response.output_text !== "") input.push({ role: "user", content: "and now?" });
    }
    assert.equal(cached[0], 0);
    for (let i = 1; i < cached.length; i++) {
      assert.ok((cached[i] ?? 0) >= (cached[i - 1] ?? 0) && (cached[i] ?? 0) > 190, String(cached));
    }
  });
});

test("previous_response_id continues where the answer was given, and is unknown elsewhere", async () => {
  await withGpu({}, async (gpu) => {
    const client = clientOf(gpu);
    const input = longText(200, 1);
    const first = await client.responses.create({ model: "mock", input });
    const second = await client.responses.create({
      model: "mock",
      input: "go on",
      previous_response_id: first.id,
    });
    assert.equal(second.previous_response_id, first.id);
    assert.ok((second.usage?.input_tokens ?? 0) > 200);
    assert.ok((second.usage?.input_tokens_details.cached_tokens ?? 0) > 180);
    assert.equal((await client.responses.retrieve(second.id)).id, second.id);
    await withGpu({}, async (other) => {
      const body = { model: "mock", input: "go on", previous_response_id: first.id };
      const reply = await post(other, "/v1/responses", body);
      assert.equal(reply.status, 404);
      assert.match(reply.text, new RegExp(`Response with id '${first.id}' not found`));
    });
  });
});

test("the store can be off, refused by the request, emptied, and does not survive a restart", async () => {
  const ask = (gpu: MockGpu, fields: Json = {}): Promise<Json> =>
    post(gpu, "/v1/responses", { model: "mock", input: "x", ...fields }).then(({ json }) => json);
  const known = async (gpu: MockGpu, id: unknown): Promise<number> =>
    (await send(gpu, "GET", `/v1/responses/${String(id)}`)).status;
  await withGpu({ responseStore: false }, async (gpu) => {
    assert.equal(await known(gpu, (await ask(gpu))["id"]), 404);
  });
  await withGpu({}, async (gpu) => {
    assert.equal(await known(gpu, (await ask(gpu, { store: false }))["id"]), 404);
    const { id } = await ask(gpu);
    assert.equal(await known(gpu, id), 200);
    assert.equal((await send(gpu, "DELETE", `/v1/responses/${String(id)}`)).status, 200);
    assert.equal(await known(gpu, id), 404);
    const kept = (await ask(gpu))["id"];
    await gpu.die();
    await gpu.revive();
    assert.equal(await known(gpu, kept), 404);
  });
});

test("stream events are numbered, named, and add up to the final response", async () => {
  await withGpu({}, async (gpu) => {
    const answer = {
      content: "First I look.",
      tool_calls: [{ name: "run", arguments: { command: "ls" } }],
    };
    const body = { model: "mock", input: "x", stream: true, mock_answer: answer };
    const reply = await post(gpu, "/v1/responses", body);
    const events = eventData(reply.text) as Json[];
    events.forEach((event, i) => assert.equal(event["sequence_number"], i));
    const types = events.map(({ type }) => String(type));
    assert.deepEqual(
      types.filter((type) => !type.endsWith(".delta")),
      [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
      ],
    );
    const final = events.at(-1)?.["response"] as { output: Json[] };
    assert.equal(final.output.length, 2);
    assert.equal(final.output[1]?.["arguments"], '{"command":"ls"}');
    const names = reply.text.split("\n").filter((line) => line.startsWith("event: "));
    assert.deepEqual(
      names.map((line) => line.slice(7)),
      types,
    );
  });
});

test("an answer cut by max_output_tokens is incomplete", async () => {
  await withGpu({}, async (gpu) => {
    const response = await clientOf(gpu).responses.create({
      model: "mock",
      input: "x",
      max_output_tokens: 3,
    });
    assert.equal(response.status, "incomplete");
    assert.equal(response.incomplete_details?.reason, "max_output_tokens");
    assert.equal(response.usage?.output_tokens, 3);
  });
});
