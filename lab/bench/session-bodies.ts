// SPDX-License-Identifier: Apache-2.0
// Agent sessions of a wanted size as bytes on the wire: each follow-up repeats the whole history and adds a step.
import { agentBody, type Encoding } from "./agent-body.ts";

const FIRST_QUESTION = '"content":"Please look at module 0';
const MESSAGES_END = '],"tools":[';

function stepText(step: number): string {
  const messages = [
    { role: "assistant", content: `Step ${step} is done.` },
    { role: "user", content: `Go on with step ${step + 1}.` },
  ];
  return messages.map((message) => `,${JSON.stringify(message)}`).join("");
}

/** Bodies that differ in the session's name and the number of steps; all else is shared between them. */
export class SessionBodies {
  /** Size of a session's first body. */
  readonly bytes: number;
  private readonly before: string;
  private readonly middle: Buffer;
  private readonly after: string;

  constructor(bytes: number, streaming: boolean, encoding: Encoding = "code") {
    const text = Buffer.from(agentBody(bytes, encoding)).toString();
    const name = text.indexOf(FIRST_QUESTION) + '"content":"'.length;
    const end = text.lastIndexOf(MESSAGES_END);
    this.before = text.slice(0, name);
    this.middle = Buffer.from(text.slice(name, end));
    this.after = text.slice(end).replace(/"stream":true}$/, `"stream":${streaming}}`);
    this.bytes = Buffer.byteLength(text);
  }

  /** @param steps exchanges after the first body */
  body(session: string, steps: number): Buffer {
    let added = "";
    for (let step = 1; step <= steps; step++) added += stepText(step);
    const start = Buffer.from(`${this.before}[${session}] `);
    return Buffer.concat([start, this.middle, Buffer.from(added + this.after)]);
  }
}
