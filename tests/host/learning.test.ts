// SPDX-License-Identifier: Apache-2.0
// What finished answers teach.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { VirtualEnvoy } from "../../lab/virtual-envoy/index.ts";
import { assertNoTrap, CHAT_PATH, Conversation, settle, startGateway } from "./harness.ts";

const PROMPT_TOKENS = 18_000;
const EVENT_STREAM = { "content-type": "text/event-stream" };

interface Answer {
  headers: Record<string, string>;
  chunks: string[];
}

function usageOf(cachedTokens?: number, promptTokens = PROMPT_TOKENS, outputTokens = 4): object {
  const details = { prompt_tokens_details: { cached_tokens: cachedTokens } };
  const usage = { prompt_tokens: promptTokens, completion_tokens: outputTokens };
  return cachedTokens === undefined ? usage : { ...usage, ...details };
}

/** A chat completion as a stream, to its end. */
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
