// SPDX-License-Identifier: Apache-2.0
// Legacy completions: text, token ids, batches, and generated ids that can be dictated.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";
import { type Json, longText, post, withGpu } from "./client.ts";

const PATH = "/v1/completions";

test("OpenAI's client completes a prompt, streamed and whole alike", async () => {
  await withGpu({}, async (gpu) => {
    const client = new OpenAI({ baseURL: `${gpu.url}/v1`, apiKey: "none", maxRetries: 0 });
    const params = { model: "mock", prompt: "Once upon a time", max_tokens: 20 };
    const whole = await client.completions.create(params);
    let streamed = "";
    for await (const chunk of await client.completions.create({ ...params, stream: true })) {
      streamed += chunk.choices[0]?.text ?? "";
    }
    assert.equal(streamed, whole.choices[0]?.text);
    assert.ok((whole.usage?.completion_tokens ?? 0) > 0);
  });
});

test("token ids are a prompt, and dictated ids are what the next prompt may repeat", async () => {
  await withGpu({ blockTokens: 128 }, async (gpu) => {
    const ids = Array.from({ length: 300 }, (_, i) => i + 7);
    const answer = Array.from({ length: 90 }, (_, i) => i + 5000);
    const body = { model: "mock", prompt: ids, mock_output_token_ids: answer };
    const first = await post(gpu, PATH, body);
    assert.equal((first.json["usage"] as Json)["completion_tokens"], 90);
    const next = { model: "mock", prompt: [...ids, ...answer, 1, 2, 3], max_tokens: 1 };
    await post(gpu, PATH, next);
    assert.equal(gpu.recorder.requests.at(-1)?.cached_tokens, 384);
  });
});

test("a batch answers every prompt in order", async () => {
  await withGpu({}, async (gpu) => {
    const prompt = [longText(30, 1), longText(60, 2)];
    const { json } = await post(gpu, PATH, { model: "mock", prompt, max_tokens: 5 });
    const choices = json["choices"] as Json[];
    assert.deepEqual(
      choices.map(({ index }) => index),
      [0, 1],
    );
    assert.notEqual(choices[0]?.["text"], choices[1]?.["text"]);
  });
});

test("a prompt that is missing or of the wrong kind is refused", async () => {
  await withGpu({}, async (gpu) => {
    for (const prompt of [undefined, null, {}, [null], "", []]) {
      assert.equal((await post(gpu, PATH, { model: "mock", prompt })).status, 400);
    }
  });
});
