// SPDX-License-Identifier: Apache-2.0
// A conversation held by Vercel's AI SDK, which runs the tools and calls again by itself.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, streamText, tool, type ModelMessage } from "ai";
import { EXPECTED_CALLS, type Script } from "./script.ts";

export async function talkInAiSdk(url: string, script: Script): Promise<number[]> {
  const provider = createOpenAICompatible({ name: "gateway", baseURL: `${url}/v1` });
  const { name, description, parameters } = script.tool;
  const messages: ModelMessage[] = [];
  const settings = {
    model: provider.chatModel(script.model),
    system: script.system,
    maxOutputTokens: script.maxTokens,
    maxRetries: 0,
    stopWhen: stepCountIs(EXPECTED_CALLS.length),
    tools: {
      [name]: tool({
        description,
        inputSchema: jsonSchema(parameters),
        execute: () => script.toolResult,
      }),
    },
  };
  const calls: number[] = [];
  for (const [index, content] of script.questions.entries()) {
    messages.push({ role: "user", content });
    const request = { ...settings, messages };
    const result = index > 0 ? streamText(request) : await generateText(request);
    if ("consumeStream" in result) await result.consumeStream();
    for (const { toolCalls } of await result.steps) calls.push(toolCalls.length);
    messages.push(...(await result.response).messages);
  }
  return calls;
}
