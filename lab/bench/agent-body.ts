// SPDX-License-Identifier: Apache-2.0
// Chat bodies as coding agents send them, of a wanted size: tools, files, calls, and other ways to write the same.

export type Encoding = "code" | "korean" | "korean_escaped" | "all_escaped";

interface Message {
  role: string;
  content: string | null;
  tool_call_id?: string;
  tool_calls?: unknown[];
}

const TOOL_TEXT =
  "Reads a file from the local filesystem. You can access any file directly by using this tool.\n" +
  "Assume this tool is able to read all files on the machine.";
const KOREAN = "파일을 읽고 함수의 동작을 설명한 다음 테스트를 고치십시오. ";

function tool(index: number) {
  const parameters = {
    type: "object",
    properties: {
      path: { type: "string", description: "The absolute path to the file to read" },
      limit: { type: "number", description: "How many lines" },
      offset: { type: "number" },
    },
    required: ["path"],
    additionalProperties: false,
  };
  return {
    type: "function",
    function: { name: `tool_${index}`, description: TOOL_TEXT, parameters },
  };
}

function codeLine(n: number): string {
  return (
    `    const value${n} = await this.store.get("key-${n}"); // look it up\n` +
    `    if (value${n} === undefined) { return this.fallback(${n}); }\n`
  );
}

function textOf(encoding: Encoding, call: number, lines: number): string {
  let text = "";
  for (let line = 0; line < lines; line++) {
    text += encoding.startsWith("korean") ? `${KOREAN}${line}` : codeLine(call * 100 + line);
  }
  return text;
}

function turn(encoding: Encoding, call: number, lines: number): Message[] {
  const id = `call_${call}`;
  const args = JSON.stringify({ path: `/src/module-${call}.ts`, limit: 200 });
  return [
    { role: "user", content: `Please look at module ${call} and fix it.` },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id, type: "function", function: { name: "tool_1", arguments: args } }],
    },
    { role: "tool", tool_call_id: id, content: textOf(encoding, call, lines) },
  ];
}

function escapeAll(text: string): string {
  return [...text].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
}

/** A body of at least `bytes` bytes: a system text, tools, and turns of question, call and file. */
export function agentBody(bytes: number, encoding: Encoding = "code"): Uint8Array {
  const small = bytes < 8_000;
  const tools = Array.from({ length: small ? 1 : 12 }, (_, index) => tool(index));
  const messages: Message[] = [
    { role: "system", content: "You are a coding agent. ".repeat(small ? 5 : 100) },
  ];
  let size = JSON.stringify({ tools, messages }).length;
  for (let call = 0; size < bytes; call++) {
    const added = turn(encoding, call, small ? 3 : 20 + ((call * 7) % 60));
    size += Buffer.byteLength(JSON.stringify(added));
    messages.push(...added);
  }
  const json = JSON.stringify({ model: "model-a", messages, tools, stream: true });
  if (encoding === "korean_escaped") {
    return Buffer.from(json.replace(/[^\0-\x7f]/g, (c) => escapeAll(c)));
  }
  if (encoding !== "all_escaped") return Buffer.from(json);
  const rows = messages.map(
    (m) => `{"role":"${m.role}","content":"${escapeAll(m.content ?? "-")}"}`,
  );
  return Buffer.from(`{"model":"model-a","messages":[${rows.join(",")}]}`);
}
