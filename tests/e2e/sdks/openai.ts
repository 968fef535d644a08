// SPDX-License-Identifier: Apache-2.0
// Conversations held by OpenAI's own client: chat completions and responses, the latter with the history here or there.
import OpenAI from "openai";
import type {
  ChatCompletionMessage,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import type { Response, ResponseInputItem } from "openai/resources/responses/responses";
import type { Script } from "./script.ts";

function clientOf(url: string): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
}

export async function talkInChat(url: string, script: Script): Promise<number[]> {
  const { chat } = clientOf(url);
  const messages: ChatCompletionMessageParam[] = [{ role: "system", content: script.system }];
  const ask = async (stream: boolean): Promise<ChatCompletionMessage> => {
    const request = {
      model: script.model,
      max_completion_tokens: script.maxTokens,
      messages,
      tools: [{ type: "function" as const, function: { ...script.tool } }],
    };
    const completion = stream
      ? await chat.completions.stream(request).finalChatCompletion()
      : await chat.completions.create(request);
    const message = completion.choices[0]?.message;
    if (message === undefined) throw new Error("a completion without a choice");
    return message;
  };
  const calls: number[] = [];
  for (const [index, content] of script.questions.entries()) {
    messages.push({ role: "user", content });
    do {
      const message = await ask(index > 0);
      messages.push(message);
      const called = message.tool_calls ?? [];
      for (const { id } of called)
        messages.push({ role: "tool", tool_call_id: id, content: script.toolResult });
      calls.push(called.length);
    } while (calls.at(-1) !== 0);
  }
  return calls;
}

/** One call of the Responses API, whole or streamed. */
async function respond(
  client: OpenAI,
  script: Script,
  request: { input: ResponseInputItem[]; previous_response_id?: string; store: boolean },
  stream: boolean,
): Promise<Response> {
  const body = {
    model: script.model,
    instructions: script.system,
    max_output_tokens: script.maxTokens,
    tools: [{ type: "function" as const, strict: true, ...script.tool }],
    ...request,
  };
  if (!stream) return client.responses.create({ ...body, stream: false });
  return client.responses.stream(body).finalResponse();
}

function resultsFor({ output }: Response, script: Script): ResponseInputItem[] {
  return output.flatMap((item) =>
    item.type === "function_call"
      ? [{ type: "function_call_output", call_id: item.call_id, output: script.toolResult }]
      : [],
  );
}

export async function talkInResponses(url: string, script: Script): Promise<number[]> {
  const client = clientOf(url);
  const input: ResponseInputItem[] = [];
  const calls: number[] = [];
  for (const [index, content] of script.questions.entries()) {
    input.push({ role: "user", content });
    do {
      const response = await respond(client, script, { input, store: false }, index > 0);
      const results = resultsFor(response, script);
      input.push(...(response.output as ResponseInputItem[]), ...results);
      calls.push(results.length);
    } while (calls.at(-1) !== 0);
  }
  return calls;
}

/** The engine keeps the history: each call brings only what is new. */
export async function talkInStoredResponses(url: string, script: Script): Promise<number[]> {
  const client = clientOf(url);
  const calls: number[] = [];
  let previous: string | undefined;
  for (const [index, content] of script.questions.entries()) {
    let input: ResponseInputItem[] = [{ role: "user", content }];
    while (input.length > 0) {
      const request = { input, previous_response_id: previous, store: true };
      const response = await respond(client, script, request, index > 0);
      previous = response.id;
      input = resultsFor(response, script);
      calls.push(input.length);
    }
  }
  return calls;
}
