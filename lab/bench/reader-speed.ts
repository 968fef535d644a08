// SPDX-License-Identifier: Apache-2.0
// How fast the request reader goes through each dialect, and through the texts that are hardest for it.
import { agentBody, type Encoding } from "./agent-body.ts";
import { messagesBody, responsesBody } from "./dialect-bodies.ts";
import { ReaderModule } from "./reader-module.ts";
import { spreadOf } from "./statistics.ts";

export interface SpeedRow {
  body: string;
  body_bytes: number;
  us_per_mib: number;
  gb_per_s: number;
}

export interface SpeedOptions {
  bytes?: number;
  rounds?: number;
}

const MIB = 1024 * 1024;
const BYTES = 1_000_000;
const ROUNDS = 25;
/** A batch runs for about a millisecond: less than a scheduler's slice. */
const BATCH_BYTES = 2_000_000;

interface Case {
  body: string;
  path: string;
  bytes: Uint8Array;
}

/** The same text written so that every line ends, quote and path in it is an escape. */
function escapeDense(bytes: number): Uint8Array {
  const line = 'if (name === "a\\\\b") {\n\treturn "\\"c\\"";\n}\n';
  const messages = [
    { role: "user", content: "Read this." },
    { role: "assistant", content: "Which file?" },
    { role: "user", content: line.repeat(Math.ceil(bytes / JSON.stringify(line).length)) },
  ];
  return Buffer.from(JSON.stringify({ model: "model-a", messages }));
}

function casesOf(bytes: number): Case[] {
  const chat = "/v1/chat/completions";
  const encoded = (body: string, encoding: Encoding): Case => ({
    body,
    path: chat,
    bytes: agentBody(body === "all \\u" ? bytes / 6 : bytes, encoding),
  });
  return [
    encoded("chat", "code"),
    { body: "responses", path: "/v1/responses", bytes: responsesBody(bytes) },
    { body: "messages", path: "/v1/messages", bytes: messagesBody(bytes) },
    { body: "escape-dense code", path: chat, bytes: escapeDense(bytes) },
    encoded("raw korean", "korean"),
    encoded("korean as \\u", "korean_escaped"),
    encoded("all \\u", "all_escaped"),
  ];
}

function measure(reader: ReaderModule, { path, bytes }: Case, rounds: number): number {
  const repeats = Math.max(1, Math.round(BATCH_BYTES / bytes.length));
  const times: number[] = [];
  for (let round = -3; round < rounds; round++) {
    const before = process.cpuUsage();
    for (let i = 0; i < repeats; i++) reader.readOnly(bytes, path);
    const { user, system } = process.cpuUsage(before);
    if (round >= 0) times.push((user + system) / repeats);
  }
  return spreadOf(times).quartile;
}

/** CPU time of the reader alone, compiled with the flags of the release, in this process. */
export async function benchReader(options: SpeedOptions = {}): Promise<SpeedRow[]> {
  const reader = await ReaderModule.load();
  return casesOf(options.bytes ?? BYTES).map((each) => {
    const us = measure(reader, each, options.rounds ?? ROUNDS);
    return {
      body: each.body,
      body_bytes: each.bytes.length,
      us_per_mib: Number(((us / each.bytes.length) * MIB).toFixed(1)),
      gb_per_s: Number((each.bytes.length / us / 1_000).toFixed(2)),
    };
  });
}
