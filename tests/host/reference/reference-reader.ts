// SPDX-License-Identifier: Apache-2.0
// A plain, slow reader of request bodies: what the streaming one must agree with. JSON.parse and text, no hashes.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Members = { [key: string]: Json };

export interface ReferenceBoundary {
  /** All that the items before it say, as text. */
  chain: string;
  runs: number;
  prefixBytes: number;
}

export interface Reference {
  turn: number;
  items: number;
  openRun: boolean;
  boundaries: ReferenceBoundary[];
  head: string;
  headBytes: number;
  promptBytes: number;
}

/** Nothing: absent, null, "", [] and {} are the same inside an item. */
const EMPTY = "";

const TEXT_TYPES = new Set(["text", "input_text", "output_text"]);
const REASONING_TYPES = new Set(["thinking", "redacted_thinking", "reasoning"]);
const GENERATED_TYPES = new Set(["tool_use", "server_tool_use", "mcp_tool_use", "compaction"]);
const REASONING_KEYS = new Set(
  ["reasoning", "reasoning_content", "reasoning_details", "reasoning_items", "thinking"].concat(
    "thinking_blocks",
  ),
);
const DROPPED_ITEM_KEYS = new Set(
  ["id", "status", "phase", "annotations", "logprobs", "cache_control"].concat(
    "prompt_cache_breakpoint",
  ),
);
const DROPPED_PART_KEYS = new Set(
  ["id", "cache_control", "prompt_cache_breakpoint", "signature", "encrypted_content"].concat(
    "annotations",
    "citations",
    "logprobs",
  ),
);
const MEDIA_KEYS = new Set(
  ["image_url", "image", "source", "input_audio", "audio_url", "video_url"].concat(
    "file",
    "file_data",
  ),
);
const MODEL_TYPES = new Set(["mcp_list_tools", "program", "program_output", "compaction"]);
const CLIENT_TYPES = new Set(["additional_tools", "compaction_trigger", "mcp_approval_response"]);
const EXTRA_KEYS = ["chat_template", "chat_template_kwargs", "documents", "reasoning_effort"];
const SYSTEM_ROLES = new Set(["system", "developer"]);
const NONCE = "x-anthropic-billing-header:";

const isObject = (value: Json | undefined): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A text as it reads in UTF-8: a lone surrogate is the replacement character. */
function quote(text: string): string {
  return JSON.stringify(Buffer.from(text).toString());
}

/** Counts text while it is written down. */
class Writer {
  bytes = 0;
  generated = false;

  private text(value: string): string {
    this.bytes += Buffer.byteLength(value);
    return quote(value);
  }

  /** Anything inside an item: keys in any order, empty values left out. */
  value(value: Json, counts = true): string {
    if (value === null || value === "") return EMPTY;
    if (typeof value === "string") return counts ? this.text(value) : quote(value);
    if (typeof value !== "object") return String(value === 0 ? 0 : value);
    const kind = Array.isArray(value) ? "[" : "{";
    const rows = Array.isArray(value)
      ? value.map((element) => this.value(element, counts)).filter((row) => row !== EMPTY)
      : members(Object.entries(value).map(([key, member]) => [key, this.value(member, counts)]));
    return rows.length === 0 ? EMPTY : `${kind}${rows.join()}`;
  }

  /** JSON that is printed as it stands: order counts, and so does everything. */
  ordered(value: Json): string {
    if (typeof value === "string") return this.text(value);
    if (value === null || typeof value !== "object") return String(value === 0 ? 0 : value);
    if (Array.isArray(value)) return `[${value.map((element) => this.ordered(element)).join()}]`;
    const rows = Object.entries(value).map(
      ([key, member]) => `${this.text(key)}:${this.ordered(member)}`,
    );
    return `{${rows.join()}}`;
  }

  /** Printed JSON as a member of an item: there, an empty value is as good as none. */
  printed(value: Json): string {
    return isHollow(value) ? EMPTY : this.ordered(value);
  }

  tool(value: Json): string {
    if (!isObject(value)) return EMPTY;
    const kept = Object.entries(value).filter(([key]) => key !== "cache_control");
    const rows = kept.map(([key, member]) => {
      const nested = key === "function" && isObject(member);
      return `${JSON.stringify(key)}:${nested ? this.tool(member) : this.ordered(member)}`;
    });
    return `{${rows.join()}}`;
  }

  content(value: Json): string {
    if (typeof value === "string") return value === "" ? EMPTY : `parts(${this.part(value)})`;
    if (!Array.isArray(value)) return EMPTY;
    const rows = value.map((part) => this.part(part)).filter((row) => row !== EMPTY);
    return rows.length === 0 ? EMPTY : `parts(${rows.join()})`;
  }

  part(value: Json): string {
    if (typeof value === "string") return value === "" ? EMPTY : `"text"=${this.text(value)}`;
    if (!isObject(value)) return EMPTY;
    const type = typeof value["type"] === "string" ? value["type"] : undefined;
    if (GENERATED_TYPES.has(type ?? "") || REASONING_TYPES.has(type ?? "")) this.generated = true;
    const before = this.bytes;
    const rows = members(
      Object.entries(value).map(([key, member]) => [key, this.partMember(key, member)]),
    );
    if (!REASONING_TYPES.has(type ?? "")) return rows.join("&");
    this.bytes = before;
    return EMPTY;
  }

  private partMember(key: string, value: Json): string {
    if (DROPPED_PART_KEYS.has(key)) return EMPTY;
    if (key === "type") {
      if (typeof value !== "string" || TEXT_TYPES.has(value)) return EMPTY;
      return quote(value);
    }
    if (key === "content") return this.content(value);
    if (key === "input") return this.printed(value);
    if (key === "tool_use_id" || MEDIA_KEYS.has(key)) return this.value(value, false);
    if (key === "refusal" && typeof value === "string" && value !== "") this.generated = true;
    return this.value(value);
  }

  call(value: Json): string {
    if (!isObject(value)) return EMPTY;
    const rows = Object.entries(value).map(([key, member]): [string, string] => {
      if (key === "id" || key === "index") return [key, EMPTY];
      return [
        key,
        key === "function" || key === "custom" ? this.called(member) : this.value(member),
      ];
    });
    return members(rows).join("&");
  }

  called(value: Json): string {
    if (!isObject(value)) return EMPTY;
    const rows = Object.entries(value).map(([key, member]): [string, string] => [
      key,
      key === "arguments" ? this.printed(member) : this.value(member),
    ]);
    return members(rows).join("&");
  }
}

/** null, "", [] or {}. */
function isHollow(value: Json): boolean {
  if (value === null || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

/** Whether a key comes twice in one object of a valid document: JSON.parse hides it. */
export function hasRepeatedKey(text: string): boolean {
  const tokens = text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/gs);
  let keys = 0;
  for (const token of tokens) keys += token[1] === undefined ? 0 : 1;
  return keys !== countMembers(JSON.parse(text) as Json);
}

function countMembers(value: Json): number {
  if (typeof value !== "object" || value === null) return 0;
  const children = Object.values(value);
  const own = Array.isArray(value) ? 0 : children.length;
  return children.reduce<number>((sum, child) => sum + countMembers(child), own);
}

/** Members that are not empty, by key. */
function members(rows: [string, string][]): string[] {
  return rows
    .filter(([, value]) => value !== EMPTY)
    .map(([key, value]) => `${JSON.stringify(key)}=${value}`)
    .sort();
}

interface Item {
  text: string;
  bytes: number;
  author: "model" | "client" | "system";
  generated: boolean;
  prefill: boolean;
}

function readMessage(item: Members): Item {
  const writer = new Writer();
  let prefill = false;
  const rows = Object.entries(item).map(([key, value]): [string, string] => {
    if (DROPPED_ITEM_KEYS.has(key)) return [key, EMPTY];
    if (REASONING_KEYS.has(key)) {
      const said =
        Array.isArray(value) || isObject(value) ? Object.keys(value).length > 0 : !!value;
      if (said && typeof value !== "number" && value !== true) writer.generated = true;
      return [key, EMPTY];
    }
    if (key === "role") return [key, typeof value === "string" ? quote(value) : EMPTY];
    if (key === "content") return [key, writer.content(value)];
    if (key === "tool_call_id") return [key, writer.value(value, false)];
    if (key === "prefix" || key === "partial") {
      prefill = value === true;
      return [key, EMPTY];
    }
    if (key === "tool_calls") {
      if (!Array.isArray(value)) return [key, EMPTY];
      const calls = value.map((call) => writer.call(call)).filter((call) => call !== EMPTY);
      if (calls.length > 0) writer.generated = true;
      return [key, calls.length > 0 ? `[${calls.join()}]` : EMPTY];
    }
    if (key === "refusal" && typeof value === "string" && value !== "") writer.generated = true;
    if (key === "audio" && isObject(value) && writer.value(value) !== EMPTY)
      writer.generated = true;
    return [key, writer.value(value)];
  });
  const role = item["role"];
  const author =
    role === "assistant" ? "model" : SYSTEM_ROLES.has(role as string) ? "system" : "client";
  const { bytes, generated } = writer;
  return { text: members(rows).join("&"), bytes, author, generated, prefill };
}

function authorOfType(type: string, item: Members): Item["author"] {
  if (type === "reasoning" || type === "item_reference" || MODEL_TYPES.has(type)) return "model";
  if (CLIENT_TYPES.has(type)) return "client";
  if (type === "tool_search_output") return item["execution"] === "server" ? "model" : "client";
  if (/_(call|request)$/.test(type)) return "model";
  if (/_output$/.test(type)) return "client";
  const role = item["role"];
  return role === "assistant" ? "model" : SYSTEM_ROLES.has(role as string) ? "system" : "client";
}

function readResponsesItem(item: Members): Item {
  const type = typeof item["type"] === "string" ? item["type"] : "";
  const author = authorOfType(type, item);
  if (type === "reasoning")
    return { text: EMPTY, bytes: 0, author, generated: true, prefill: false };
  const writer = new Writer();
  const rows = Object.entries(item).map(([key, value]): [string, string] => {
    if (key === "type")
      return [key, typeof value !== "string" || type === "message" ? EMPTY : quote(type)];
    if (key === "role") return [key, typeof value === "string" ? JSON.stringify(value) : EMPTY];
    if (key === "content" || key === "output") return [key, writer.content(value)];
    if (key === "arguments") return [key, writer.printed(value)];
    if (key === "call_id") return [key, author === "model" ? EMPTY : writer.value(value, false)];
    if (key === "id") return [key, type === "item_reference" ? writer.value(value, false) : EMPTY];
    if (key === "encrypted_content") {
      return [key, type === "compaction" ? writer.value(value, false) : EMPTY];
    }
    if (key === "summary" || DROPPED_ITEM_KEYS.has(key)) return [key, EMPTY];
    return [key, writer.value(value)];
  });
  const text = members(rows).join("&");
  const id = item["id"];
  const isUntyped = typeof item["type"] !== "string";
  const isReference = text === EMPTY && typeof id === "string" && id !== "" && isUntyped;
  return {
    text: isReference ? `"id"=${quote(id)}` : text,
    bytes: writer.bytes,
    author: isReference ? "model" : author,
    generated: true,
    prefill: false,
  };
}

/** What a body says, or null if it is no JSON. */
export function readReference(body: Uint8Array): Reference | null {
  let document: Json;
  try {
    document = JSON.parse(new TextDecoder().decode(body)) as Json;
  } catch {
    return null;
  }
  return isObject(document) ? readBody(document) : readBody({});
}

function readBody(body: Members): Reference {
  const isResponses = !("messages" in body) && "input" in body;
  const list = isResponses ? body["input"] : body["messages"];
  const read = isResponses ? readResponsesItem : readMessage;
  let items: Item[] = [];
  if (Array.isArray(list)) items = list.filter(isObject).map((item) => read(item));
  if (isResponses && typeof list === "string" && list !== "") {
    items = [readResponsesItem({ role: "user", content: list })];
  }
  return join(items, readHead(body), body["continue_final_message"] === true);
}

function readHead(body: Members): { text: string; bytes: number } {
  const writer = new Writer();
  const tools = Array.isArray(body["tools"])
    ? body["tools"].filter(isObject).map((tool) => writer.tool(tool))
    : [];
  const system = ["system", "instructions"].map((key) => {
    const value = body[key];
    if (value === undefined) return EMPTY;
    if (!Array.isArray(value)) return typeof value === "string" ? writer.content(value) : EMPTY;
    const isNonce = (part: Json) =>
      isObject(part) && typeof part["text"] === "string" && part["text"].startsWith(NONCE);
    return writer.content(value.filter((part) => !isNonce(part)));
  });
  const uncounted = new Writer();
  const extras = members(EXTRA_KEYS.map((key) => [key, uncounted.value(body[key] ?? null)]));
  return { text: JSON.stringify([tools, system, extras]), bytes: writer.bytes };
}

function join(items: Item[], head: { text: string; bytes: number }, continues: boolean): Reference {
  const boundaries: ReferenceBoundary[] = [];
  const leading: string[] = [];
  let [headBytes, bytes, runs, chained] = [head.bytes, 0, 0, 0];
  let chain = "";
  let run: Item[] = [];
  const mark = (at: number) => {
    if (chained > 0) boundaries.push({ chain, runs: at, prefixBytes: bytes });
  };
  for (const item of items) {
    if (item.author === "system" && chained === 0 && run.length === 0) {
      leading.push(item.text);
      headBytes += item.bytes;
      continue;
    }
    if (item.author === "model" && run.length === 0) mark(runs);
    if (item.author === "model") run.push(item);
    else if (run.length > 0) {
      runs++;
      run = [];
    }
    bytes += item.bytes;
    if (item.text === EMPTY) continue;
    chained++;
    chain += `\n${item.text}`;
  }
  const last = run.at(-1);
  const counted = !!last && run.some((item) => item.generated) && !last.prefill && !continues;
  const closed = runs + (counted ? 1 : 0);
  mark(closed);
  return {
    turn: items.length > 0 ? closed + 1 : 0,
    items: items.length,
    openRun: run.length > 0 && !counted,
    boundaries,
    head: JSON.stringify([head.text, leading]),
    headBytes,
    promptBytes: headBytes + bytes,
  };
}
