// SPDX-License-Identifier: Apache-2.0
// Prints a request body the way a chat template would, so that a real tokenizer can count what an engine reads.

interface Part {
  [key: string]: unknown;
  type?: string;
  text?: string;
  content?: unknown;
  name?: string;
  input?: unknown;
}

interface ToolCall {
  function?: { name: string; arguments: string };
  custom?: { name: string; input: string };
}

interface Item extends Part {
  role?: string;
  tool_calls?: ToolCall[];
  function_call?: { name: string; arguments: string };
  arguments?: string;
  output?: unknown;
}

export interface RequestBody {
  messages?: Item[];
  input?: string | Item[];
  system?: unknown;
  instructions?: string;
  tools?: object[];
  functions?: object[];
}

/** What templates have a token of its own for. */
export const SPECIAL_TOKEN = /^<(\|im_start\||\|im_end\||\/?tool_call)>$/;

/** Keys of an item or part that engines do not show to the model. */
const UNSEEN = new Set(
  "type role id call_id tool_call_id tool_use_id status encrypted_content cache_control signature".split(
    " ",
  ),
);

function callText(name: string, input: unknown): string {
  const printed = typeof input === "string" ? input : JSON.stringify(input);
  return `<tool_call>\n{"name": "${name}", "arguments": ${printed}}\n</tool_call>`;
}

/** What is neither text nor a call is printed as JSON. */
function otherText(value: Part): string {
  const seen = Object.entries(value).filter(([key]) => !UNSEEN.has(key));
  return `${value.type}${seen.length > 0 ? JSON.stringify(Object.fromEntries(seen)) : ""}`;
}

function partText(part: string | Part): string {
  if (typeof part === "string") return part;
  // Templates leave the thoughts of earlier turns out.
  if (/thinking|reasoning/.test(part.type ?? "")) return "";
  if (part.text !== undefined) return part.text;
  if (/tool_use$/.test(part.type ?? "")) return callText(part.name ?? "", part.input);
  if (part.content !== undefined) return contentText(part.content);
  return otherText(part);
}

function contentText(content: unknown): string {
  if (content === undefined || content === null) return "";
  return [content]
    .flat()
    .map((part) => partText(part as string | Part))
    .join("\n");
}

function chatCalls({ tool_calls: calls = [], function_call: legacy }: Item): string[] {
  const listed = legacy === undefined ? calls : [...calls, { function: legacy }];
  return listed.map((call: ToolCall) =>
    call.function
      ? callText(call.function.name, call.function.arguments)
      : callText(call.custom?.name ?? "", call.custom?.input),
  );
}

/** Role and text of an item, or nothing for what leaves no trace in a prompt. */
function itemText(item: Item): { role: string; text: string } | undefined {
  const { type = "message" } = item;
  if (type === "reasoning") return undefined;
  if (/_call_output$/.test(type)) return { role: "tool", text: contentText(item.output) };
  if (type === "function_call" || type === "custom_tool_call") {
    const text = callText(item.name ?? "", item.arguments ?? item.input);
    return { role: "assistant", text };
  }
  if (type !== "message") return { role: "assistant", text: otherText(item) };
  const text = [contentText(item.content), ...chatCalls(item)].filter((each) => each !== "");
  return { role: item.role ?? "user", text: text.join("\n") };
}

function block(role: string, text: string): string[] {
  const inner = `${role}\n${text}`.split(/(<\/?tool_call>)/);
  return ["<|im_start|>", ...inner, "<|im_end|>", "\n"];
}

/**
 * The prompt in pieces between special tokens, each of which a tokenizer counts on its own:
 * tools as lines of JSON and the system text first, then `<|im_start|>role\ntext<|im_end|>\n` for each item, calls as
 * `<tool_call>` JSON, results as they are.
 */
export function templateText(body: RequestBody): string[] {
  const tools = body.tools ?? body.functions ?? [];
  const head = tools.map((tool) => JSON.stringify(tool)).join("\n");
  const system = contentText(body.system ?? body.instructions);
  const { input = [] } = body;
  const listed = typeof input === "string" ? [{ role: "user", content: input }] : input;
  const items = (body.messages ?? listed).flatMap((item) => itemText(item) ?? []);
  return [
    ...(head === "" ? [] : block("system", head)),
    ...(system === "" ? [] : block("system", system)),
    ...items.flatMap(({ role, text }) => block(role, text)),
  ];
}
