// SPDX-License-Identifier: Apache-2.0
// What happened to one session on one endpoint: done at once on this worker's view, and again on the shared state.
import { EndpointState } from "./endpoint-state";
import { StopClass } from "./stop-class";

export enum DeedKind {
  /** A request left for the endpoint. */
  Send = 0,
  FirstByte = 1,
  /** An answer ended. */
  End = 2,
  /** A request ended without an answer. */
  Abandon = 3,
  /** The session went elsewhere. */
  Release = 4,
}

/** Bytes of a deed that matter for its kind: what only an End tells is last, and what only a Send tells before. */
export function bytesOf(kind: DeedKind): i32 {
  if (kind == DeedKind.End) return offsetof<Deed>();
  return kind == DeedKind.Send ? offsetof<Deed>("atLeast") : offsetof<Deed>("nowMs");
}

/** Reused. A number of tokens or seconds that was not told is negative. Plain bytes: it is copied as such. */
@final
export class Deed {
  kind: DeedKind = DeedKind.Abandon;
  slot: i32 = 0;
  session: u64 = 0;
  /** Send and End: when. */
  nowMs: u64 = 0;
  tokens: f64 = 0;
  /** Send: when the session began, seconds since the epoch. */
  bornSeconds: u32 = 0;
  /** End: what the answer proves of the capacity. */
  atLeast: f64 = -1;
  atMost: f64 = -1;
  lostTokens: f64 = 0;
  /** End: 1 = a reported hit was as slow as a loss, 0 = it was not. */
  slowHit: f64 = -1;
  /** End: why, and whether the session is worth waiting for. */
  stop: StopClass = StopClass.Other;
  stays: bool = false;
  /** End: what the first token took, and the tokens that were computed before it. */
  ttftSeconds: f64 = -1;
  queuedTokens: f64 = 0;
  computedTokens: f64 = 0;

  begin(kind: DeedKind, slot: i32, session: u64, nowMs: u64): void {
    this.kind = kind;
    this.slot = slot;
    this.session = session;
    this.nowMs = nowMs;
    this.atLeast = -1;
    this.atMost = -1;
    this.lostTokens = 0;
    this.slowHit = -1;
    this.ttftSeconds = -1;
  }

  perform(endpoint: EndpointState): void {
    const stack = endpoint.stack;
    switch (this.kind) {
      case DeedKind.Send:
        stack.send(this.session, this.tokens, this.bornSeconds, this.nowMs);
        endpoint.dropGone();
        return;
      case DeedKind.FirstByte:
        stack.firstByte(this.session);
        return;
      case DeedKind.End:
        stack.end(this.session, this.tokens, this.stop, this.stays, this.nowMs);
        this.teach(endpoint);
        return;
      case DeedKind.Abandon:
        stack.abandon(this.session);
        return;
      default:
        stack.release(this.session);
    }
  }

  private teach(endpoint: EndpointState): void {
    const seconds = <f64>this.nowMs / 1000;
    if (this.atMost >= 0) endpoint.capacity.atMost(this.atMost, seconds);
    if (this.atLeast >= 0) endpoint.capacity.atLeast(this.atLeast, seconds);
    endpoint.window.lostTokens += this.lostTokens;
    if (this.slowHit >= 0) endpoint.noteSlowHit(this.slowHit);
    endpoint.refill.observe(this.ttftSeconds, this.queuedTokens, this.computedTokens);
  }
}
