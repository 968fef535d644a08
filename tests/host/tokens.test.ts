// SPDX-License-Identifier: Apache-2.0
// The reader's token estimates beside a real tokenizer (o200k), which counts each prompt as a chat template prints it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, it } from "node:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { fromRoot } from "../../cli/paths.ts";
import { agentBody } from "../../lab/bench/agent-body.ts";
import { type Answer, ReaderModule } from "../../lab/bench/reader-module.ts";
import { ChatBodies } from "../../lab/replay/bodies/chat-body.ts";
import { airlineSource } from "../../lab/replay/workloads/airline.ts";
import { takeSessions } from "../../lab/replay/workloads/session.ts";
import { readSamples } from "./samples.ts";
import { type RequestBody, SPECIAL_TOKEN, templateText } from "./template-text.ts";

const CONVERSATIONS = 120;
const LARGEST_ERROR = 0.15;
/** Below this many tokens of error no share matters: it is less than one block of an engine's cache. */
const SMALL_ERROR_TOKENS = 12;

const counted = new Map<string, number>();

/** Pieces come again from request to request; each is counted once. */
function tokensOfPiece(piece: string): number {
  if (SPECIAL_TOKEN.test(piece)) return 1;
  const known = counted.get(piece) ?? countTokens(piece);
  counted.set(piece, known);
  return known;
}

function tokensOf(body: RequestBody): number {
  return templateText(body).reduce((sum, piece) => sum + tokensOfPiece(piece), 0);
}

function errorOf(estimate: number, tokens: number): number {
  return Math.abs(estimate - tokens) / tokens;
}

function chatOf(content: string): Uint8Array {
  return Buffer.from(JSON.stringify({ messages: [{ role: "user", content }] }));
}

function rowsOf(row: (n: number) => string): string {
  return Array.from({ length: 300 }, (_, n) => row(n)).join("\n");
}

/** Texts of one kind each, as tools return them. */
const KINDS: Record<string, () => string> = {
  "AssemblyScript source": () => readFileSync(fromRoot("assembly/json/text-reader.ts"), "utf8"),
  "TypeScript source": () => readFileSync(fromRoot("cli/build.ts"), "utf8"),
  Markdown: () => readFileSync(fromRoot("README.md"), "utf8"),
  "JSON on one line": () =>
    JSON.stringify(JSON.parse(readFileSync(fromRoot("package-lock.json"), "utf8"))).slice(
      0,
      50_000,
    ),
  "JSON on many lines": () => readFileSync(fromRoot("package-lock.json"), "utf8").slice(0, 50_000),
  "a log": () =>
    rowsOf(
      (n) => `2024-05-15T15:04:${10 + (n % 50)}.${n}Z INFO [worker-${n % 8}] took ${n * 13} ms`,
    ),
  numbers: () => rowsOf((n) => `${(n * 7919 * 104729) % 1e9}`).replaceAll("\n", " "),
  Chinese: () =>
    "机器学习模型在推理时需要大量的显存，因此调度器必须知道每个请求的前缀。".repeat(20),
  Japanese: () => "このファイルを読んで、関数の動作を説明してください。エラーが出ます。".repeat(20),
  Russian: () =>
    "Прочитай этот файл и объясни, что делает функция, затем исправь тесты. ".repeat(20),
  German: () => "Größe überprüfen und für alle Knoten die Länge ändern; Türen öffnen. ".repeat(20),
};

describe("the token estimate", () => {
  let reader: ReaderModule;
  before(async () => {
    reader = await ReaderModule.load();
  });

  it("is within 15 % on every request of the airline conversations", () => {
    const bodies = new ChatBodies({ model: "model-a", bytesPerToken: 4, synthetic: false });
    const sessions = takeSessions(airlineSource({ seed: 1, gapCapMs: 1_000 }), CONVERSATIONS);
    let requests = 0;
    for (const session of sessions) {
      for (const call of session.calls) {
        const body = bodies.body(session, call);
        const tokens = tokensOf(JSON.parse(body) as RequestBody);
        const { promptTokens } = reader.read(Buffer.from(body));
        const found = `${session.id} turn ${call.turn}: ${promptTokens}, not ${tokens}`;
        assert.ok(errorOf(promptTokens, tokens) <= LARGEST_ERROR, found);
        requests++;
      }
    }
    assert.ok(requests > 1_000, `${requests} requests`);
  });

  for (const { file, path, headers, body } of readSamples()) {
    const text = Buffer.from(body)
      .toString()
      .replace(/^\uFEFF/, "");
    let parsed: RequestBody;
    try {
      parsed = JSON.parse(text) as RequestBody;
    } catch {
      continue; // No conversation: there is nothing to count.
    }
    it(`is within 15 %, or ${SMALL_ERROR_TOKENS} tokens where that is more, on ${file}`, () => {
      const answer: Answer = reader.read(body, { path, headers });
      if (answer.turn === 0) return assert.equal(answer.promptTokens, 0);
      const tokens = tokensOf(parsed);
      const error = Math.abs(answer.promptTokens - tokens);
      const allowed = Math.max(SMALL_ERROR_TOKENS, LARGEST_ERROR * tokens);
      assert.ok(error <= allowed, `${answer.promptTokens}, not ${tokens}`);
    });
  }

  for (const [kind, text] of Object.entries(KINDS)) {
    it(`is within 20 % on ${kind}`, () => {
      const body = chatOf(text());
      const tokens = tokensOf(JSON.parse(Buffer.from(body).toString()) as RequestBody);
      const { promptTokens } = reader.read(body);
      assert.ok(errorOf(promptTokens, tokens) <= 0.2, `${promptTokens}, not ${tokens}`);
    });
  }

  it("is the same however a text is written and cut", () => {
    const body = agentBody(60_000);
    const { promptTokens } = reader.read(body);
    assert.equal(reader.read(body, { chunks: [1, 100, 7_777, 20_000] }).promptTokens, promptTokens);
    const escaped = Buffer.from(Buffer.from(body).toString().replace(/store/g, "\\u0073tore"));
    assert.equal(reader.read(escaped).promptTokens, promptTokens);
  });
});
