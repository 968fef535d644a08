// SPDX-License-Identifier: Apache-2.0
// Server-sent events as vLLM writes them, with the faults that may hit a stream on its way.
import { type Exchange } from "./exchange.ts";
import { type FaultPlan } from "./faults.ts";

export class EventStream {
  private silent = false;

  constructor(
    private readonly exchange: Exchange,
    private readonly faults: FaultPlan,
  ) {}

  start(): void {
    this.exchange.start(200, { "content-type": "text/event-stream; charset=utf-8" });
  }

  /** An event without a name, as OpenAI's chat and completions use it. */
  data(value: unknown): void {
    this.write(`data: ${JSON.stringify(value)}\n\n`);
  }

  /** An event with a name, as Responses and Messages use it. */
  event(name: string, value: unknown): void {
    this.write(`event: ${name}\ndata: ${JSON.stringify(value)}\n\n`);
  }

  done(): void {
    this.write("data: [DONE]\n\n");
    this.end();
  }

  end(): void {
    if (!this.silent) this.exchange.end();
  }

  /** Tells how many tokens have been sent; faults that wait for a number strike here. */
  passed(tokens: number): void {
    if (reached(tokens, this.faults.reset_after_tokens)) this.exchange.reset();
    if (reached(tokens, this.faults.stall_after_tokens)) this.silent = true;
  }

  private write(text: string): void {
    if (!this.silent) this.exchange.write(text);
  }
}

function reached(tokens: number, limit: number | null | undefined): boolean {
  return limit !== null && limit !== undefined && tokens >= limit;
}
