// SPDX-License-Identifier: Apache-2.0
// What finished answers teach: what was cached and what silence about it means, prices, and what cannot be read.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Observation, VirtualEnvoy } from "../../lab/virtual-envoy/index.ts";
import {
  assertNoTrap,
  CHAT_PATH,
  Conversation,
  converse,
  ENDPOINTS,
  settle,
  startGateway,
} from "./harness.ts";

const PROMPT_TOKENS = 18_000;
const CACHED_TOKENS = 17_900;
const EVENT_STREAM = { "content-type": "text/event-stream" };

interface Answer {
  headers: Record<string, string>;
  chunks: string[];
}

function jsonOf(document: object, headers: Record<string, string> = {}): Answer {
  return {
    headers: { "content-type": "application/json", ...headers },
    chunks: [JSON.stringify(document)],
  };
}

function usageOf(cachedTokens?: number, promptTokens = PROMPT_TOKENS, outputTokens = 4): object {
  const details = { prompt_tokens_details: { cached_tokens: cachedTokens } };
  const usage = { prompt_tokens: promptTokens, completion_tokens: outputTokens };
  return cachedTokens === undefined ? usage : { ...usage, ...details };
}

/** A chat completion; without cached tokens it says nothing of them. */
function chatAnswer(cachedTokens?: number): Answer {
  const choices = [{ message: { role: "assistant", content: "a" }, finish_reason: "stop" }];
  return jsonOf({ id: "x", choices, usage: usageOf(cachedTokens) });
}

/** The same as a stream, to its end. */
function streamedAnswer(usage: object): Answer {
  const events = [
    { id: "x", choices: [{ delta: { content: "a" } }] },
    { id: "x", choices: [], usage },
  ];
  const lines = [...events.map((event) => JSON.stringify(event)), "[DONE]"];
  return { headers: EVENT_STREAM, chunks: lines.map((line) => `data: ${line}\n\n`) };
}

/** A conversation that begins with a long text. */
function longOne(name: string, repeats = 4_000, extra: object = {}): Conversation {
  return new Conversation(name, "Be careful.", extra).ask(`words of ${name} `.repeat(repeats));
}

function read(envoy: VirtualEnvoy, name: string): number {
  settle(envoy);
  return envoy.metrics.read(name);
}

function decisionOf(seen: Observation): string | undefined {
  return seen.upstreamHeaders?.["x-smetric-decision"];
}

/** Prompt tokens of answers that count in the hit rate. */
function countedTokens(envoy: VirtualEnvoy): number {
  settle(envoy);
  return Object.entries(envoy.metrics.snapshot())
    .filter(([name]) => name.startsWith("smetric_reported_prompt_tokens.turns."))
    .reduce((sum, [, tokens]) => sum + tokens, 0);
}

/** Two turns of a conversation; both answers tell what was cached. */
function tell(envoy: VirtualEnvoy, conversation: Conversation): void {
  converse(envoy, conversation, { response: chatAnswer(0) });
  converse(envoy, conversation.next(1), { response: chatAnswer(CACHED_TOKENS) });
}

describe("silence about cached tokens", () => {
  const silent = { JSON: chatAnswer(), "a stream": streamedAnswer(usageOf()) };
  for (const [form, response] of Object.entries(silent))
    it(`means that nothing was cached, in ${form} of an endpoint that tells them`, async () => {
      const envoy = await startGateway({ workers: 1 });
      const conversation = longOne("a");
      tell(envoy, conversation);
      converse(envoy, conversation.next(2), { response });
      assert.equal(read(envoy, "smetric_homes_voided"), 1);
      assert.equal(countedTokens(envoy), 3 * PROMPT_TOKENS);
    });

  it("means nothing where they were never told", async () => {
    const envoy = await startGateway({ workers: 1 });
    const conversation = longOne("a");
    for (let turn = 1; turn < 4; turn++) {
      converse(envoy, conversation, { response: chatAnswer() });
      conversation.next(turn);
    }
    assert.equal(read(envoy, "smetric_homes_voided"), 0);
    assert.equal(countedTokens(envoy), 0);
  });

  it("means nothing in a wire format whose answers never tell them", async () => {
    const envoy = await startGateway({ workers: 1, endpoints: ENDPOINTS.slice(0, 2) });
    const chat = longOne("a");
    tell(envoy, chat);
    envoy.tick(65_000);
    const messages = [{ role: "user", content: "words of a file ".repeat(4_000) }];
    const content = [{ type: "text", text: "a" }];
    const usage = { input_tokens: 16_000, output_tokens: 4 };
    const response = jsonOf({ id: "m", type: "message", content, stop_reason: "end_turn", usage });
    for (let turn = 1; turn < 12; turn++) {
      const body = JSON.stringify({ model: "m", max_tokens: 9, system: "s", messages });
      envoy.request({ path: "/v1/messages", body, response });
      envoy.tick(5_000);
      messages.push({ role: "assistant", content: `a${turn}` });
      messages.push({ role: "user", content: `go ${turn}` });
    }
    const seen = converse(envoy, chat.next(2), { response: chatAnswer(CACHED_TOKENS) });
    assert.equal(read(envoy, "smetric_homes_voided"), 0);
    assert.equal(decisionOf(seen), "home");
    assert.equal(countedTokens(envoy), 3 * PROMPT_TOKENS);
  });

  it("means nothing of an endpoint that never tells them, beside one that does", async () => {
    const endpoints = ENDPOINTS.slice(0, 2);
    const envoy = await startGateway({ workers: 1, endpoints });
    const sessions = ["a", "b", "c", "d"].map((name) => longOne(name));
    const servers = new Set<string>();
    let told = 0;
    for (let turn = 1; turn < 5; turn++) {
      for (const session of sessions) {
        const stream = envoy.send({ path: CHAT_PATH, body: session.body(), response: false });
        const server = String(stream.info.endpoint?.address);
        const tells = server === endpoints[0];
        servers.add(server);
        if (tells) told++;
        stream.respond(chatAnswer(tells ? (turn > 1 ? CACHED_TOKENS : 0) : undefined));
        if (turn > 1) assert.equal(decisionOf(envoy.observe(stream)), "home");
        envoy.tick(1_000);
        session.next(turn);
      }
    }
    assert.equal(servers.size, 2);
    assert.equal(read(envoy, "smetric_homes_voided"), 0);
    assert.equal(countedTokens(envoy), told * PROMPT_TOKENS);
  });

  it("means nothing in a stream of running totals that its client cuts", async () => {
    const envoy = await startGateway({ workers: 1 });
    const conversation = longOne("a");
    tell(envoy, conversation);
    for (let turn = 2; turn < 5; turn++) {
      const body = conversation.next(turn).body();
      const stream = envoy.send({ path: CHAT_PATH, body, response: false });
      const event = { id: "y", choices: [{ delta: { content: "a" } }], usage: usageOf() };
      stream.respondHeaders(200, EVENT_STREAM);
      stream.respondChunk(`data: ${JSON.stringify(event)}\n\n`);
      stream.abort();
      envoy.tick(1_000);
    }
    assert.equal(read(envoy, "smetric_homes_voided"), 0);
    assert.equal(countedTokens(envoy), 2 * PROMPT_TOKENS);
    assertNoTrap(envoy);
  });
});

describe("prices", () => {
  /** What cold requests teach that take three seconds each; the salts take turns. */
  async function learn(salts: number): Promise<number> {
    const envoy = await startGateway({ workers: 1 });
    for (let index = 0; index < 200; index++) {
      const salt = salts > 0 ? { cache_salt: `tenant ${index % salts}` } : {};
      const body = longOne(`session ${index}`, 1_000, salt).body();
      const stream = envoy.send({ path: CHAT_PATH, body, response: false });
      envoy.tick(3_000);
      const answer = streamedAnswer(usageOf(0, 4_000, 20));
      stream.respondHeaders(200, answer.headers);
      answer.chunks.forEach((chunk, at) =>
        stream.respondChunk(chunk, at === answer.chunks.length - 1),
      );
    }
    assertNoTrap(envoy);
    return read(envoy, "smetric_uncached_token_ns");
  }

  it("are a model's, however many cache salts its tenants send", async () => {
    const unsalted = await learn(0);
    assert.ok(unsalted > 300_000, `${unsalted} ns, of 100,000 to begin with`);
    assert.equal(await learn(1), unsalted);
    assert.equal(await learn(40), unsalted);
  });
});

describe("an answer that cannot be read", () => {
  const unreadable: Record<string, Record<string, string>> = {
    compressed: { "content-encoding": "gzip" },
    "of no known type": { "content-type": "application/octet-stream" },
  };

  async function play(headers: Record<string, string>, status = 200): Promise<[number, number]> {
    const envoy = await startGateway({
      workers: 1,
      endpoints: ENDPOINTS.slice(0, 1),
      configuration: {
        priority: { scheme: "plas" },
        admission: { enabled: true, capacity_tokens: 100_000 },
      },
    });
    const choices = [{ message: { role: "assistant", content: "a" }, finish_reason: "tool_calls" }];
    const usage = usageOf(undefined, 4_000, 2_000);
    const conversation = longOne("a", 1_000);
    let seen: Observation | undefined;
    for (let turn = 1; turn < 7; turn++) {
      const response = { status, ...jsonOf({ id: "x", choices, usage }, headers) };
      seen = converse(envoy, conversation, { response });
      conversation.next(turn);
      envoy.tick(1_000);
    }
    envoy.tick(2_000);
    assertNoTrap(envoy);
    const priority = Number(seen?.upstreamHeaders?.["x-vllm-priority"]);
    return [read(envoy, "smetric_resident_tokens.fleet.llm.slot.0"), priority];
  }

  for (const [kind, headers] of Object.entries(unreadable))
    it(`counts for admission and priority all the same: ${kind}`, async () => {
      const [tokens, priority] = await play(headers);
      assert.ok(tokens > 1_500, `${tokens} resident tokens`);
      // Five answers of 400 tokens, the length to begin with, at 20 ms: 40 s.
      assert.equal(priority, 4);
    });

  it("counts for nothing where nobody served it", async () => {
    assert.deepEqual(await play({ "content-type": "text/html" }, 503), [0, 0]);
  });
});
