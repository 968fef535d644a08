// SPDX-License-Identifier: Apache-2.0
// Airline conversations: complete chat-completions histories with tool calls, replayed with their real text.
import { readJsonLines, shippedTrace } from "./data-file.ts";
import { KEY_SPACE, KEYS_PER_SESSION } from "./keys.ts";
import { type Chance, chance, shuffled } from "./random.ts";
import {
  type App,
  append,
  type Call,
  type Item,
  type Role,
  type Session,
  type SessionSource,
} from "./session.ts";

interface ToolCall {
  function: { name: string; arguments: string };
}

interface Message {
  role: Role | "system";
  content: string | null;
  tool_calls?: ToolCall[];
}

interface Conversation {
  id: string;
  messages: Message[];
}

/** Rule of thumb for English JSON: the mock GPU's own tokens are the ones that are measured. */
const CHARACTERS_PER_TOKEN = 4;
/** Gaps before calls in seconds, medians of the coding-agent trace: 9 after a tool call, 30 for a person. */
const TOOL_GAP_S = 9;
const THINK_GAP_S = 30;
const GAP_SIGMA = 0.8;

export interface AirlineOptions {
  seed: number;
  /** Longest gap in milliseconds of simulated time. */
  gapCapMs: number;
}

/** The tools of the app, as the trace itself shows them: names and arguments of all calls made. */
function toolsOf(conversations: readonly Conversation[]): unknown[] {
  const parameters = new Map<string, Map<string, unknown>>();
  for (const message of conversations.flatMap((conversation) => conversation.messages)) {
    for (const { function: call } of message.tool_calls ?? []) {
      const known = parameters.get(call.name) ?? new Map<string, unknown>();
      for (const [name, value] of Object.entries(JSON.parse(call.arguments) as object)) {
        known.set(name, { type: Array.isArray(value) ? "array" : typeof value });
      }
      parameters.set(call.name, known);
    }
  }
  return [...parameters].map(([name, known]) => ({
    type: "function",
    function: {
      name,
      description: name.replaceAll("_", " "),
      parameters: { type: "object", properties: Object.fromEntries(known) },
    },
  }));
}

function tokensOf(text: string): number {
  return Math.max(1, Math.round(text.length / CHARACTERS_PER_TOKEN));
}

function gapOf(
  previous: Message | undefined,
  draws: Chance,
  capMs: number,
): Pick<Call, "gap" | "gapMs"> {
  if (previous === undefined) return { gap: "start", gapMs: 0 };
  const gap = previous.tool_calls ? "tool" : "think";
  const median = gap === "tool" ? TOOL_GAP_S : THINK_GAP_S;
  return { gap, gapMs: Math.min(capMs, draws.logNormal(median, GAP_SIGMA) * 1000) };
}

function sessionOf(
  conversation: Conversation,
  app: App,
  firstKey: number,
  draws: Chance,
  capMs: number,
): Session {
  const calls: Call[] = [];
  let tip: Item | null = null;
  let answered: Message | undefined;
  conversation.messages.slice(1).forEach((message, index) => {
    const json = JSON.stringify(message);
    const item = append(tip, {
      role: message.role as Role,
      key: firstKey + index,
      tokens: tokensOf(json),
      callsTool: message.tool_calls !== undefined,
      json,
    });
    if (message.role === "assistant" && tip !== null) {
      const after = calls.length === 0 ? [] : [calls.length - 1];
      const gap = gapOf(answered, draws, capMs);
      calls.push({ tip, turn: tip.runs + 1, answer: item, after, ...gap });
      answered = message;
    }
    tip = item;
  });
  return { id: conversation.id, app, calls };
}

/** Airline sessions: turn k asks with the messages just before the k-th assistant message. */
export function airlineSource(options: AirlineOptions): SessionSource {
  const conversations = readJsonLines<Conversation>(shippedTrace("airline"));
  const system = conversations[0]?.messages[0]?.content ?? "";
  const tools = toolsOf(conversations);
  const headTokens = tokensOf(system) + tokensOf(JSON.stringify(tools));
  const app: App = { name: "airline", system, tools, headTokens };
  const order = shuffled(conversations, chance(options.seed, "airline/order"));
  return {
    name: "airline",
    notes: [`airline: ${conversations.length} conversations, real text`],
    at: (index) => {
      const conversation = order[index % order.length]!;
      const draws = chance(options.seed, `airline/${index}`);
      const session = sessionOf(
        conversation,
        app,
        KEY_SPACE.airline + index * KEYS_PER_SESSION,
        draws,
        options.gapCapMs,
      );
      return { ...session, id: `${session.id}-${index}` };
    },
  };
}
