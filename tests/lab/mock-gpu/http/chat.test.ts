// SPDX-License-Identifier: Apache-2.0
// Chat completions over HTTP: framing, usage, limits, forced answers, and OpenAI's own client.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";
import { eventData, type Json, longText, post, user, withGpu } from "./client.ts";

const CHAT = "/v1/chat/completions";

const WEATHER = {
  type: "function" as const,
  function: {
    name: "get_weather",
    description: "Weather of a city",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer" } },
      required: ["city"],
    },
  },
};

interface ChatChunk {
  choices: { delta: { role?: string; content?: string }; finish_reason: string | null }[];
  usage?: Json;
}

test("a stream has vLLM's order: role, content, finish reason, usage, [DONE]", async () => {
  await withGpu({}, async (gpu) => {
    const body = {
      model: "mock",
      messages: [user("hello")],
      max_tokens: 5,
      stream: true,
      stream_options: { include_usage: true },
    };
    const reply = await post(gpu, CHAT, body);
    assert.equal(reply.headers["content-type"], "text/event-stream; charset=utf-8");
    const events = eventData(reply.text);
    assert.equal(events.pop(), "[DONE]");
    const chunks = events as ChatChunk[];
    const usage = chunks.pop();
    assert.deepEqual(usage?.choices, []);
    assert.equal(usage?.usage?.["completion_tokens"], 5);
    assert.deepEqual(chunks[0]?.choices[0]?.delta, { role: "assistant", content: "" });
    assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, "length");
    const middle = chunks.slice(1, -1);
    assert.ok(middle.every(({ choices }) => choices[0]?.finish_reason === null));
  });
});

test("the streamed text is the text of a whole answer, and the same on every endpoint", async () => {
  const texts: string[] = [];
  for (const preset of ["8b-h100", "30b-a3b-h20"] as const) {
    await withGpu({ preset }, async (gpu) => {
      const body = { model: "mock", messages: [user("tell me")], max_tokens: 40 };
      const whole = await post(gpu, CHAT, body);
      const [choice] = whole.json["choices"] as { message: { content: string } }[];
      texts.push(choice?.message.content ?? "");
      const stream = await post(gpu, CHAT, { ...body, stream: true });
      const chunks = eventData(stream.text).slice(0, -1) as ChatChunk[];
      texts.push(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join(""));
    });
  }
  assert.ok((texts[0]?.length ?? 0) > 10);
  assert.equal(new Set(texts).size, 1);
});

test("a growing conversation is cached up to the last whole block of the previous answer", async () => {
  await withGpu({}, async (gpu) => {
    const messages: Json[] = [{ role: "system", content: longText(400, 1) }];
    let before = 0;
    for (let turn = 1; turn <= 5; turn++) {
      messages.push(user(longText(60, turn)));
      const reply = await post(gpu, CHAT, { model: "mock", messages, max_tokens: 500 });
      const usage = reply.json["usage"] as Record<string, number>;
      const [choice] = reply.json["choices"] as { message: Json }[];
      const cached = gpu.recorder.requests.at(-1)?.cached_tokens ?? -1;
      // The end token of an answer is never computed: up to a block and that token are missing.
      if (turn > 1) assert.ok(cached > before - 17 && cached <= before, `${cached} of ${before}`);
      else assert.equal(cached, 0);
      before = usage["total_tokens"] ?? 0;
      messages.push(choice?.message ?? {});
    }
  });
});

test("usage names cached tokens as this engine's version does, or not at all", async () => {
  const body = { model: "mock", messages: [user(longText(100, 1))], max_tokens: 2 };
  const details = async (options: object): Promise<unknown[]> => {
    const seen: unknown[] = [];
    await withGpu(options, async (gpu) => {
      for (let i = 0; i < 2; i++) {
        const reply = await post(gpu, CHAT, body);
        seen.push((reply.json["usage"] as Json)["prompt_tokens_details"]);
      }
    });
    return seen;
  };
  const standard = await details({});
  assert.deepEqual(standard[0], { cached_tokens: 0 });
  assert.ok(((standard[1] as Json)["cached_tokens"] as number) >= 96);
  assert.equal((await details({ reportZeroCached: false }))[0], null);
  assert.equal((await details({ engine: "sglang" }))[0], null);
  assert.deepEqual(await details({ promptTokensDetails: false }), [null, null]);
});

test("the number of generated tokens can be forced in four ways", async () => {
  await withGpu({}, async (gpu) => {
    const messages = [user("go")];
    const tokensOf = async (body: Json, headers = {}): Promise<[unknown, unknown]> => {
      const reply = await post(gpu, CHAT, { model: "mock", messages, ...body }, headers);
      const [choice] = reply.json["choices"] as Json[];
      return [(reply.json["usage"] as Json)["completion_tokens"], choice?.["finish_reason"]];
    };
    assert.deepEqual(await tokensOf({}, { "x-mock-output-tokens": "37" }), [37, "stop"]);
    assert.deepEqual(await tokensOf({ max_tokens: 41, ignore_eos: true }), [41, "length"]);
    assert.deepEqual(await tokensOf({ max_completion_tokens: 3 }), [3, "length"]);
    const [atLeast] = await tokensOf({ min_tokens: 300, max_tokens: 400 });
    assert.ok((atLeast as number) >= 300 && (atLeast as number) <= 400);
  });
});

test("an answer can be dictated in the body or in a header, tool calls included", async () => {
  await withGpu({}, async (gpu) => {
    const answer = {
      content: "I look it up.",
      tool_calls: [
        { id: "call_7", type: "function", function: { name: "find", arguments: '{"q": "x"}' } },
        { name: "list", arguments: { n: 1 } },
      ],
    };
    const body = { model: "mock", messages: [user("go")] };
    const inBody = await post(gpu, CHAT, { ...body, mock_answer: answer });
    const header = Buffer.from(JSON.stringify(answer)).toString("base64");
    const inHeader = await post(gpu, CHAT, body, { "x-mock-answer": header });
    for (const reply of [inBody, inHeader]) {
      const [choice] = reply.json["choices"] as { message: Json; finish_reason: string }[];
      assert.equal(choice?.finish_reason, "tool_calls");
      assert.equal(choice?.message["content"], "I look it up.");
      assert.deepEqual(choice?.message["tool_calls"], [
        { id: "call_7", type: "function", function: { name: "find", arguments: '{"q": "x"}' } },
        { id: "call_1", type: "function", function: { name: "list", arguments: '{"n":1}' } },
      ]);
    }
    const text = await post(gpu, CHAT, { ...body, mock_answer: "just text" });
    const [choice] = text.json["choices"] as { message: Json }[];
    assert.equal(choice?.message["content"], "just text");
  });
});

test("n answers to one prompt differ, and share the prompt", async () => {
  await withGpu({}, async (gpu) => {
    const body = { model: "mock", messages: [user(longText(64, 1))], n: 3, max_tokens: 30 };
    const reply = await post(gpu, CHAT, body);
    const choices = reply.json["choices"] as { message: { content: string } }[];
    assert.equal(new Set(choices.map(({ message }) => message.content)).size, 3);
    assert.ok(gpu.engine.counters.hitTokens > 0);
  });
});

test("a priority is an error where it is off, and obeyed where it is on", async () => {
  const body = { model: "mock", messages: [user("go")], max_tokens: 2 };
  await withGpu({}, async (gpu) => {
    assert.equal((await post(gpu, CHAT, body, { "x-vllm-priority": "3" })).status, 400);
    assert.equal((await post(gpu, CHAT, { ...body, priority: -1 })).status, 400);
    assert.equal((await post(gpu, CHAT, body, { "x-vllm-priority": "abc" })).status, 200);
    assert.equal((await post(gpu, CHAT, body, { "x-vllm-priority": "0" })).status, 200);
  });
  await withGpu({ scheduling: "priority" }, async (gpu) => {
    const reply = await post(gpu, CHAT, { ...body, priority: 9 }, { "x-vllm-priority": "-4" });
    assert.equal(reply.status, 200);
    assert.equal(gpu.recorder.requests.at(-1)?.priority, -4);
  });
});

test("cache_salt separates tenants", async () => {
  await withGpu({}, async (gpu) => {
    const body = { model: "mock", messages: [user(longText(100, 1))], max_tokens: 2 };
    for (const salt of ["a", "b", "a"]) await post(gpu, CHAT, { ...body, cache_salt: salt });
    const cached = gpu.recorder.requests.map(({ cached_tokens }) => cached_tokens > 0);
    assert.deepEqual(cached, [false, false, true]);
  });
});

test("string content and one text part are the same prompt", async () => {
  await withGpu({}, async (gpu) => {
    const text = longText(100, 1);
    const forms = [text, [{ type: "text", text }]];
    for (const content of forms) {
      await post(gpu, CHAT, {
        model: "mock",
        messages: [{ role: "user", content }],
        max_tokens: 2,
      });
    }
    const [first, second] = gpu.recorder.requests;
    assert.equal(first?.prompt_tokens, second?.prompt_tokens);
    assert.ok((second?.cached_tokens ?? 0) >= 96);
  });
});

test("OpenAI's client runs a tool conversation, streamed and whole", async () => {
  await withGpu({}, async (gpu) => {
    const client = new OpenAI({ baseURL: `${gpu.url}/v1`, apiKey: "none", maxRetries: 0 });
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: "system", content: longText(200, 1) },
      { role: "user", content: "What is the weather in Rome?" },
    ];
    const headers = { "x-mock-tool-rounds": "2" };
    const cached: number[] = [];
    for (let round = 0; round < 6; round++) {
      const params = { model: "mock", messages, tools: [WEATHER] };
      const completion =
        round % 2 === 0
          ? await client.chat.completions.create(params, { headers })
          : await client.chat.completions
              .stream({ ...params, stream_options: { include_usage: true } }, { headers })
              .finalChatCompletion();
      const message = completion.choices[0]?.message;
      assert.ok(message);
      cached.push(completion.usage?.prompt_tokens_details?.cached_tokens ?? 0);
      messages.push(message);
      const calls = message.tool_calls ?? [];
      assert.equal(calls.length, round % 3 === 2 ? 0 : 1, `round ${round}`);
      for (const call of calls) {
        assert.equal(call.type, "function");
        if (call.type !== "function") continue;
        assert.equal(typeof (JSON.parse(call.function.arguments) as Json)["city"], "string");
        messages.push({ role: "tool", tool_call_id: call.id, content: "Sunny, 24 degrees." });
      }
      if (calls.length === 0) messages.push({ role: "user", content: "And tomorrow?" });
    }
    for (let i = 1; i < cached.length; i++) {
      assert.ok((cached[i] ?? 0) >= (cached[i - 1] ?? 0) && (cached[i] ?? 0) > 190, String(cached));
    }
  });
});

test("answers that the client resends hit the cache although they travelled as JSON", async () => {
  await withGpu({}, async (gpu) => {
    const messages: Json[] = [user(longText(40, 1))];
    const answer = {
      content: "Ich prüfe das — 你好 🙂",
      tool_calls: [{ id: "c", name: "f", arguments: { a: "ß" } }],
    };
    const first = await post(gpu, CHAT, { model: "mock", messages, mock_answer: answer });
    const [choice] = first.json["choices"] as { message: Json }[];
    messages.push(choice?.message ?? {}, {
      role: "tool",
      tool_call_id: "c",
      content: longText(40, 2),
    });
    await post(gpu, CHAT, { model: "mock", messages, max_tokens: 2 });
    const [one, two] = gpu.recorder.requests;
    const served = (one?.prompt_tokens ?? 0) + (one?.output_tokens ?? 0);
    assert.ok((two?.cached_tokens ?? 0) > served - 18);
  });
});
