// SPDX-License-Identifier: Apache-2.0
// Agent conversations as clients send them: the whole history with every call.

export interface Message {
  role: string;
  content: string | null;
  tool_calls?: object[];
  tool_call_id?: string;
}

/** A system prompt as long as real agents have, the same for all sessions. */
export function systemPrompt(lengthChars: number): string {
  const rule = "You are a careful agent. Read the file before you change it, and run the tests. ";
  return rule.repeat(Math.ceil(lengthChars / rule.length)).slice(0, lengthChars);
}

export function tools(count: number): object[] {
  return Array.from({ length: count }, (_, index) => ({
    type: "function",
    function: {
      name: `tool_${index}`,
      description: `Does thing number ${index} in the repository and reports what it found.`,
      parameters: {
        type: "object",
        properties: { path: { type: "string" }, limit: { type: "integer", minimum: index } },
        required: ["path"],
      },
    },
  }));
}

export interface ConversationOptions {
  system?: string;
  tools?: object[];
  /** Further fields of the request body. */
  fields?: object;
}

/** One session: appends what it sends and what it gets. */
export class Conversation {
  readonly messages: Message[];

  constructor(
    firstText: string,
    readonly options: ConversationOptions = {},
  ) {
    const { system } = options;
    this.messages = [
      ...(system === undefined ? [] : [{ role: "system", content: system }]),
      { role: "user", content: firstText },
    ];
  }

  /** The next request's body. */
  body(): string {
    return JSON.stringify({
      model: "test-model",
      ...this.options.fields,
      messages: this.messages,
      ...(this.options.tools === undefined ? {} : { tools: this.options.tools }),
    });
  }

  /** Takes the answer into the history and asks on. */
  goOn(answerText: string, nextText: string): void {
    this.messages.push(
      { role: "assistant", content: answerText },
      { role: "user", content: nextText },
    );
  }
}
