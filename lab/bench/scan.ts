// SPDX-License-Identifier: Apache-2.0
// Measures how fast the request reader goes through agent-shaped bodies, alone, in this process.
import { agentBody, type Encoding } from "./agent-body.ts";
import { messagesBody, responsesBody } from "./dialect-bodies.ts";
import { ReaderModule } from "./reader-module.ts";

/** All bodies take turns, so that a burst of other load meets each of them for a moment and none for good. */
const ROUNDS = 12;
/** Time for one body in one round; the best batch counts, because other load only ever makes a batch slower. */
const SLICE_MS = 40;
/** A batch of half a millisecond fits between two interruptions. */
const BATCH_BYTES = 1_000_000;

const CHAT = "/v1/chat/completions";
const MB = 1_000_000;

interface Case {
  name: string;
  path: string;
  body: Uint8Array;
}

function encoded(name: string, bytes: number, encoding: Encoding): Case {
  return { name, path: CHAT, body: agentBody(bytes, encoding) };
}

/** Source code as tool results hold it, where every line ends, quote and backslash is an escape. */
function escapeDense(bytes: number): Uint8Array {
  const python = 'def path(name):\n\treturn "C:\\\\src\\\\" + name.replace("\\n", "")\n';
  const script = 'if (name === "a") {\n\tthrow new Error("no \\"a\\" here\\n");\n}\n';
  const content = (python + script).repeat(30);
  const messages: object[] = [{ role: "user", content: "Read all." }];
  for (let size = 0, call = 0; size < bytes; call++) {
    const id = `call_${call}`;
    const read = { id, type: "function", function: { name: "read", arguments: "{}" } };
    messages.push({ role: "assistant", content: null, tool_calls: [read] });
    messages.push({ role: "tool", tool_call_id: id, content });
    size += JSON.stringify(content).length;
  }
  return Buffer.from(JSON.stringify({ model: "model-a", messages }));
}

/** A long conversation of short messages: what an item costs, apart from its text. */
function shortMessages(items: number): Uint8Array {
  const messages = Array.from({ length: items }, (_, item) => ({
    role: item % 2 === 0 ? "user" : "assistant",
    content: `Message number ${item} of the conversation, please go on.`,
  }));
  return Buffer.from(JSON.stringify({ model: "model-a", messages }));
}

function casesOf(): Case[] {
  const sizes = [2_000, 16_000, 100_000, 220_000, MB, 6 * MB];
  return [
    ...sizes.map((bytes) => encoded("chat", bytes, "code")),
    { name: "responses", path: "/v1/responses", body: responsesBody(MB) },
    { name: "messages", path: "/v1/messages", body: messagesBody(MB) },
    { name: "escape-dense code", path: CHAT, body: escapeDense(MB) },
    encoded("korean", MB, "korean"),
    encoded("korean as \\u", MB, "korean_escaped"),
    // Six bytes of the body for each of the text.
    encoded("all \\u", MB / 6, "all_escaped"),
    { name: "1,000 short messages", path: CHAT, body: shortMessages(1_000) },
  ];
}

export interface ScanRow {
  name: string;
  body_bytes: number;
  us: number;
  gb_per_s: number;
  /** Time of a pass that only finds quotes and escapes, over the time of the reader: the same on every machine. */
  mask_ratio: number;
}

/** Best time of a run in one slice, in microseconds. */
function sliceUs(bytes: number, run: () => void): number {
  const repeats = Math.max(1, Math.ceil(BATCH_BYTES / bytes));
  let best = Infinity;
  const until = performance.now() + SLICE_MS;
  do {
    const start = process.hrtime.bigint();
    for (let i = 0; i < repeats; i++) run();
    best = Math.min(best, Number(process.hrtime.bigint() - start) / repeats / 1_000);
  } while (performance.now() < until);
  return best;
}

/** The reader's time holds the copy into its window, as a gateway's would. */
export async function benchScan(): Promise<ScanRow[]> {
  const reader = await ReaderModule.load();
  const timed = casesOf().map((each) => ({ ...each, us: Infinity, maskUs: Infinity }));
  for (let round = 0; round < ROUNDS; round++) {
    for (const each of timed) {
      const { body, path } = each;
      each.us = Math.min(
        each.us,
        sliceUs(body.length, () => reader.readOnly(body, path)),
      );
      each.maskUs = Math.min(
        each.maskUs,
        sliceUs(body.length, () => reader.maskPass(body)),
      );
    }
  }
  return timed.map(({ name, body, us, maskUs }) => ({
    name,
    body_bytes: body.length,
    us: Number(us.toFixed(2)),
    gb_per_s: Number((body.length / us / 1_000).toFixed(2)),
    mask_ratio: Number((maskUs / us).toFixed(3)),
  }));
}
