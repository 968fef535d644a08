// SPDX-License-Identifier: Apache-2.0
// What every SDK is told to say: two questions, each answered after two tool calls, the second one streamed.
import { systemPrompt } from "../harness/conversation.ts";

/** Tool calls before an answer in words; the mock GPUs are told so. */
export const TOOL_ROUNDS = 2;

/** Tool calls in each answer of a conversation, in order. */
export const EXPECTED_CALLS = [1, 1, 0, 1, 1, 0];

export interface Script {
  model: string;
  maxTokens: number;
  system: string;
  tool: { name: string; description: string; parameters: ToolParameters };
  /** What the tool always says. */
  toolResult: string;
  questions: string[];
}

/** A type and no interface: only those go where an index signature is asked for. */
type ToolParameters = {
  type: "object";
  properties: Record<string, { type: "string"; description: string }>;
  required: string[];
  additionalProperties: boolean;
};

/** Holds a whole conversation; answers how many tools each answer has called. */
export type Talk = (url: string, script: Script) => Promise<number[]>;

/** Conversations of different speakers differ from the first question on and share what stands before it. */
export function scriptFor(speaker: string): Script {
  return {
    model: "test-model",
    maxTokens: 60,
    system: systemPrompt(2_000),
    tool: {
      name: "read_file",
      description: "Reads a file of the repository — whole, as “text”.",
      parameters: {
        type: "object",
        properties: { path: { type: "string", description: "Below the root" } },
        required: ["path"],
        additionalProperties: false,
      },
    },
    toolResult: 'export const greeting = "Grüß dich 👋";\n// \\u0041 stays as it is\n'.repeat(8),
    questions: [`I am ${speaker}. What does "main.ts" print?`, "And in French – s'il te plaît?"],
  };
}
