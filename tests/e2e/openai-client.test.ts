// SPDX-License-Identifier: Apache-2.0
// The official client talks to mock GPUs through Envoy: a tool conversation stays home, and its answers are relayed untouched.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test, type TestContext } from "node:test";
import OpenAI from "openai";
import type {
  ChatCompletionMessage,
  ChatCompletionMessageParam,
  ChatCompletionTool,
} from "openai/resources/chat/completions";
import { buildFilter } from "../../cli/build.ts";
import { startEnvoy, type RunningEnvoy } from "../../envoy/launcher.ts";
import { startMockGpu, type MockGpu } from "../../lab/mock-gpu/http/server.ts";
import { systemPrompt, tools } from "./harness/conversation.ts";
import { until } from "./harness/fleet.ts";
import { locate } from "./harness/rendered.ts";
import { on, WAYS, type Way } from "./harness/ways.ts";

const TURNS = 6;
const OPTIONS = { speedup: 200, model: "test-model" };

/** What one call brought, as the client saw it. */
interface Call {
  endpoint: string;
  message: Pick<ChatCompletionMessage, "content" | "tool_calls">;
  cachedTokens: number;
  responseSha256: string;
}

/** An OpenAI client that also hashes the bytes of each response. */
class HashingClient {
  readonly #client: OpenAI;
  #hash = Promise.resolve("");
  #endpoint = "";

  constructor(url: string) {
    this.#client = new OpenAI({
      baseURL: `${url}/v1`,
      apiKey: "none",
      maxRetries: 0,
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        this.#endpoint = response.headers.get("x-mock-endpoint") ?? "";
        if (response.body === null) return response;
        const [forClient, forHash] = response.body.tee();
        this.#hash = digest(forHash);
        return new Response(forClient, response);
      },
    });
  }

  async call(messages: ChatCompletionMessageParam[], stream: boolean): Promise<Call> {
    const request = {
      model: OPTIONS.model,
      messages,
      tools: tools(3) as ChatCompletionTool[],
      max_tokens: 40,
    };
    const completion = stream
      ? await this.#client.chat.completions
          .stream({ ...request, stream_options: { include_usage: true } })
          .finalChatCompletion()
      : await this.#client.chat.completions.create(request);
    const message = completion.choices[0]?.message;
    assert.ok(message);
    return {
      endpoint: this.#endpoint,
      message,
      cachedTokens: completion.usage?.prompt_tokens_details?.cached_tokens ?? 0,
      responseSha256: await this.#hash,
    };
  }
}

async function digest(body: ReadableStream<Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  const reader = body.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read())
    hash.update(read.value);
  return hash.digest("hex");
}

/** Text and tool calls without what differs from call to call. */
function textOf({ message }: Call): unknown {
  const calls = (message.tool_calls ?? []).map((call) =>
    call.type === "function" ? call.function : call,
  );
  return { content: message.content, calls: calls.map((call) => JSON.stringify(call)) };
}

/** What the client says next: the result of a tool that was called, or a further question. */
function goOn(messages: ChatCompletionMessageParam[], { message }: Call, turn: number): void {
  const called = message.tool_calls ?? [];
  messages.push({
    role: "assistant",
    content: message.content,
    ...(called.length > 0 && { tool_calls: called }),
  });
  for (const { id } of called) {
    messages.push({ role: "tool", tool_call_id: id, content: `result ${turn}: `.repeat(40) });
  }
  if (called.length === 0)
    messages.push({ role: "user", content: `Question ${turn}. `.repeat(20) });
}

async function startGpus(
  t: TestContext,
  way: Way,
): Promise<{ envoy: RunningEnvoy; gpus: MockGpu[] }> {
  const gpus = await Promise.all(
    Array.from({ length: 4 }, () => startMockGpu({ ...OPTIONS, toolRounds: 2 })),
  );
  t.after(() => Promise.all(gpus.map((gpu) => gpu.close())));
  const endpoints = gpus.map((gpu) => gpu.address);
  const envoy = await startEnvoy({
    ...way,
    bootstrap: locate(way.bootstrap),
    endpoints,
    wasm: await buildFilter(),
  });
  t.after(() => envoy.stop());
  return { envoy, gpus };
}

for (const way of WAYS) {
  test(on(way, "the openai client's tool conversation stays home, byte for byte"), async (t) => {
    const { envoy, gpus } = await startGpus(t, way);
    const direct = await startMockGpu({ ...OPTIONS, toolRounds: 2 });
    t.after(() => direct.close());
    for (const stream of [false, true]) {
      await t.test(stream ? "streaming" : "not streaming", async () => {
        const client = new HashingClient(envoy.url);
        const directClient = new HashingClient(direct.url);
        const messages: ChatCompletionMessageParam[] = [
          { role: "system", content: systemPrompt(3_000) },
          { role: "user", content: `Begin (${stream ? "streaming" : "whole"}).` },
        ];
        const calls: Call[] = [];
        for (let turn = 1; turn <= TURNS; turn++) {
          const call = await client.call(messages, stream);
          assert.deepEqual(textOf(call), textOf(await directClient.call(messages, stream)));
          calls.push(call);
          goOn(messages, call, turn);
        }
        assert.ok(
          calls.some((call) => (call.message.tool_calls ?? []).length > 0),
          "no tool was called",
        );
        assert.equal(new Set(calls.map((call) => call.endpoint)).size, 1);
        const cached = calls.map((call) => call.cachedTokens);
        for (let turn = 1; turn < TURNS; turn++) {
          assert.ok(
            (cached[turn] ?? 0) > (cached[turn - 1] ?? 0),
            `cached tokens: ${cached.join(", ")}`,
          );
        }
        const home = gpus.find((gpu) => gpu.address === calls[0]?.endpoint);
        assert.ok(home);
        await until("the mock has recorded the ends", () =>
          home.recorder.requests.every((record) => record.outcome !== "open"),
        );
        const sent = home.recorder.requests.map((record) => record.response_sha256);
        assert.deepEqual(
          calls.map((call) => call.responseSha256),
          sent.slice(-TURNS),
        );
      });
    }
  });
}
