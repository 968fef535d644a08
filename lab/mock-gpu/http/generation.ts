// SPDX-License-Identifier: Apache-2.0
// One answer on its way: tokens come from the engine in steps, deltas go to the wire format.
import { type RequestSink, type ServedRequest } from "../engine/request.ts";
import { type AnswerPlan, type Delta } from "./answer.ts";

export interface GenerationListener {
  /**
   * What became visible since the last call; `tokens` counts all tokens so far. `last` is true once,
   * and never for a request that was aborted.
   */
  progress(deltas: Delta[], tokens: number, last: boolean): void;
}

/**
 * Collects what one advance of the engine produced and hands it on afterwards in one piece, as vLLM
 * merges outputs that its server has not sent yet.
 */
export class Generation implements RequestSink {
  request: ServedRequest | null = null;
  listener: GenerationListener | null = null;
  private produced = 0;
  private delivered = 0;
  private done = false;

  constructor(
    readonly plan: AnswerPlan,
    private readonly touched: Set<Generation>,
    private readonly ended: (request: ServedRequest) => void,
  ) {}

  tokens(_request: ServedRequest, count: number): void {
    this.produced += count;
    this.touched.add(this);
  }

  end(request: ServedRequest): void {
    this.done = request.endReason === "done";
    this.ended(request);
  }

  /** Calls back once, when the answer is complete. */
  onEnd(listener: () => void): void {
    this.listener = {
      progress: (_deltas, _tokens, last) => {
        if (last) listener();
      },
    };
  }

  /** Hands on what has been collected. */
  deliver(): void {
    const listener = this.listener;
    if (listener === null) return;
    const deltas: Delta[] = [];
    for (; this.delivered < this.produced; this.delivered++) {
      const delta = this.plan.deltas[this.delivered];
      if (delta !== null && delta !== undefined) merge(deltas, delta);
    }
    if (this.done) this.listener = null;
    listener.progress(deltas, this.delivered, this.done);
  }
}

function merge(deltas: Delta[], delta: Delta): void {
  const last = deltas[deltas.length - 1];
  if (last?.kind === "text" && delta.kind === "text") {
    deltas[deltas.length - 1] = { kind: "text", text: last.text + delta.text };
  } else if (
    last?.kind === "arguments" &&
    delta.kind === "arguments" &&
    last.index === delta.index
  ) {
    deltas[deltas.length - 1] = { ...delta, text: last.text + delta.text };
  } else {
    deltas.push(delta);
  }
}
