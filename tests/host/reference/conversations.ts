// SPDX-License-Identifier: Apache-2.0
// Makes up request bodies of the agents' dialects, and writes one body in the many ways that clients have.
import type { Random } from "./random.ts";
import type { Json } from "./reference-reader.ts";

type Members = { [key: string]: Json };

const TEXTS = [
  "yes",
  "a longer text that does not end within a vector of the scanner, nor within a block of 64 bytes",
  'quotes " and \\ backslashes \\\\" and\nlines\n\ttabs',
  "é ü ß 한국어 텍스트 입니다 😀 and ascii",
  "\u0000\u001f\u007f/\u2028",
  "",
  "x".repeat(63),
  "x".repeat(64) + '"',
  "\\".repeat(65),
];
const KEYS = ["path", "limit", "query", "nested_value", "a key with spaces", "ключ"];

function text(random: Random): string {
  return random.chance(15) ? random.pick(TEXTS) + random.pick(TEXTS) : random.pick(TEXTS);
}

function anything(random: Random, depth = 0): Json {
  const kind = random.below(depth > 3 ? 4 : 6);
  if (kind === 0) return text(random);
  if (kind === 1) return random.below(1_000) / 8;
  if (kind === 2) return random.pick([true, false, null]);
  if (kind === 3) return random.below(100);
  if (kind === 4) return Array.from({ length: random.below(3) }, () => anything(random, depth + 1));
  const keys = random.shuffle([...KEYS]).slice(0, random.below(3));
  return Object.fromEntries(keys.map((key) => [key, anything(random, depth + 1)]));
}

function parts(random: Random, type: string): Json[] {
  return Array.from({ length: 1 + random.below(3) }, () => {
    if (random.chance(10)) {
      return { type: "image_url", image_url: { url: `data:${text(random)}`, detail: "low" } };
    }
    const part: Members = { type, text: text(random) };
    if (random.chance(20)) part["cache_control"] = { type: "ephemeral" };
    return part;
  });
}

function content(random: Random, type = "text"): Json {
  return random.chance(60) ? text(random) : parts(random, type);
}

function chatRun(random: Random, id: number): Members[] {
  const message: Members = { role: "assistant", content: content(random) };
  if (random.chance(20)) message["reasoning_content"] = text(random);
  if (random.chance(50)) return [message];
  const callId = `call_${id}`;
  const called = { name: "tool", arguments: JSON.stringify(anything(random)) };
  message["content"] = null;
  message["tool_calls"] = [{ id: callId, type: "function", function: called }];
  return [message, { role: "tool", tool_call_id: callId, content: content(random) }];
}

function messagesRun(random: Random, id: number): Members[] {
  if (random.chance(50)) return [{ role: "assistant", content: content(random) }];
  const blocks: Json[] = [];
  if (random.chance(40)) blocks.push({ type: "thinking", thinking: text(random), signature: "s" });
  blocks.push({ type: "tool_use", id: `toolu_${id}`, name: "tool", input: anything(random) });
  const result = { type: "tool_result", tool_use_id: `toolu_${id}`, content: content(random) };
  return [
    { role: "assistant", content: blocks },
    { role: "user", content: [result] },
  ];
}

function responsesRun(random: Random, id: number): Members[] {
  const items: Members[] = [];
  if (random.chance(40)) {
    items.push({ type: "reasoning", id: `rs_${id}`, summary: [], encrypted_content: text(random) });
  }
  if (random.chance(50)) {
    const parts = [{ type: "output_text", text: text(random), annotations: [] }];
    return [...items, { type: "message", role: "assistant", id: `msg_${id}`, content: parts }];
  }
  const call = { type: "function_call", call_id: `c${id}`, name: "tool", arguments: text(random) };
  return [
    ...items,
    call,
    { type: "function_call_output", call_id: `c${id}`, output: text(random) },
  ];
}

const RUNS = { chat: chatRun, messages: messagesRun, responses: responsesRun };

export interface MadeBody {
  path: string;
  body: Members;
}

/** A conversation of some runs, possibly with system text, tools and settings. */
export function makeBody(random: Random): MadeBody {
  const dialect = random.pick(["chat", "messages", "responses"] as const);
  const run = RUNS[dialect];
  const type = dialect === "responses" ? "input_text" : "text";
  const items: Members[] = [];
  if (dialect === "chat" && random.chance(60)) {
    items.push({ role: random.pick(["system", "developer"]), content: content(random) });
  }
  items.push({ role: "user", content: content(random, type) });
  const runs = random.below(6);
  for (let id = 0; id < runs; id++) {
    items.push(...run(random, id));
    if (random.chance(60)) items.push({ role: "user", content: content(random, type) });
  }
  const body: Members = {
    model: "model-a",
    [dialect === "responses" ? "input" : "messages"]: items,
  };
  if (dialect === "messages" && random.chance(60)) body["system"] = content(random);
  if (random.chance(50)) {
    body["tools"] = [
      { type: "function", function: { name: "tool", parameters: anything(random) } },
    ];
  }
  if (random.chance(10)) body["continue_final_message"] = true;
  if (random.chance(10)) body["metadata"] = { messages: items.slice(0, 1), role: "assistant" };
  const paths = {
    chat: "/v1/chat/completions",
    messages: "/v1/messages",
    responses: "/v1/responses",
  };
  return { path: paths[dialect], body };
}

/** Objects whose order of keys a client may change without changing the prompt. */
const ORDERED_KEYS = new Set(["tools", "input", "arguments"]);

/** Writes a value as some client would: spaces, escapes, order of keys, forms of numbers. */
export function write(value: Json, random: Random, isOrdered = false): string {
  const space = () => (random.chance(5) ? random.pick([" ", "\n", "\t ", "\r\n"]) : "");
  if (typeof value === "string") return writeText(value, random);
  if (typeof value === "number") return writeNumber(value, random);
  if (value === null || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) {
    const rows = value.map((element) => `${space()}${write(element, random, isOrdered)}${space()}`);
    return `[${space()}${rows.join()}]`;
  }
  const entries = Object.entries(value);
  const rows = (isOrdered ? entries : random.shuffle(entries)).map(([key, member]) => {
    // The items themselves are a list under `input`; below a tool call it is printed JSON.
    const prints = isOrdered || (ORDERED_KEYS.has(key) && !isItemList(key, member));
    return `${space()}${writeText(key, random)}${space()}:${space()}${write(member, random, prints)}${space()}`;
  });
  return `{${rows.join()}}`;
}

function isItemList(key: string, value: Json): boolean {
  return key === "input" && Array.isArray(value) && value.some((item) => isItem(item));
}

function isItem(value: Json): boolean {
  return typeof value === "object" && value !== null && ("role" in value || "type" in value);
}

function writeText(value: string, random: Random): string {
  if (random.chance(90)) return JSON.stringify(value);
  const share = random.pick([3, 30, 100]);
  let written = "";
  for (const unit of value.split("")) {
    const escape = `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
    const isSurrogate = /[\ud800-\udfff]/.test(unit);
    if (!isSurrogate && random.chance(share))
      written += random.chance(50) ? escape : escape.toUpperCase().replace("U", "u");
    else if (unit === "/" && random.chance(50)) written += "\\/";
    else written += isSurrogate ? unit : JSON.stringify(unit).slice(1, -1);
  }
  return `"${written}"`;
}

function writeNumber(value: number, random: Random): string {
  if (random.chance(70) || value === 0) return JSON.stringify(value);
  return random.pick([
    value.toExponential(),
    `${value * 10}e-1`,
    `${value}${Number.isInteger(value) ? ".0" : "0"}`,
  ]);
}

/** Damages a body as networks, proxies and bad clients do. */
export function damage(body: Uint8Array, random: Random): Uint8Array {
  const at = random.below(body.length);
  const end = Math.min(body.length, at + 1 + random.below(40));
  switch (random.below(5)) {
    case 0:
      return body.subarray(0, at);
    case 1:
      return Buffer.concat([body.subarray(0, end), body.subarray(at)]);
    case 2:
      return Buffer.concat([body.subarray(0, at), body.subarray(end)]);
    case 3: {
      const structural = Buffer.from(
        random.pick(["{", "}", "[", "]", '"', ",", ":", "\\", "0", "e"]),
      );
      return Buffer.concat([body.subarray(0, at), structural, body.subarray(at + 1)]);
    }
    default: {
      const flipped = Uint8Array.from(body);
      flipped[at]! ^= 1 << random.below(8);
      return flipped;
    }
  }
}
