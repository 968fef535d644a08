// SPDX-License-Identifier: Apache-2.0
// Conversations held by LangChain, over chat completions and over responses.
import {
  HumanMessage,
  SystemMessage,
  ToolMessage,
  type AIMessage,
  type AIMessageChunk,
  type BaseMessage,
} from "@langchain/core/messages";
import { concat } from "@langchain/core/utils/stream";
import { ChatOpenAI } from "@langchain/openai";
import type { Script } from "./script.ts";

async function joined(stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  let whole: AIMessageChunk | undefined;
  for await (const chunk of stream) whole = whole === undefined ? chunk : concat(whole, chunk);
  if (whole === undefined) throw new Error("an empty stream");
  return whole;
}

async function talk(url: string, script: Script, useResponsesApi: boolean): Promise<number[]> {
  const model = new ChatOpenAI({
    model: script.model,
    apiKey: "none",
    maxTokens: script.maxTokens,
    maxRetries: 0,
    useResponsesApi,
    configuration: { baseURL: `${url}/v1` },
  }).bindTools([{ type: "function", function: script.tool }]);
  const messages: BaseMessage[] = [new SystemMessage(script.system)];
  const calls: number[] = [];
  for (const [index, content] of script.questions.entries()) {
    messages.push(new HumanMessage(content));
    do {
      const message: AIMessage =
        index > 0 ? await joined(await model.stream(messages)) : await model.invoke(messages);
      messages.push(message);
      const called = message.tool_calls ?? [];
      for (const { id = "" } of called)
        messages.push(new ToolMessage({ tool_call_id: id, content: script.toolResult }));
      calls.push(called.length);
    } while (calls.at(-1) !== 0);
  }
  return calls;
}

export function talkInLangChainChat(url: string, script: Script): Promise<number[]> {
  return talk(url, script, false);
}

export function talkInLangChainResponses(url: string, script: Script): Promise<number[]> {
  return talk(url, script, true);
}
