// SPDX-License-Identifier: Apache-2.0
// What one request came to: what was read, what was known, what was decided, who served it. Plain data.
import { Fleet } from "../memory/fleet";
import { Homes } from "../memory/homes";
import { InFlight } from "../memory/in-flight";
import { NO_SLOT } from "../memory/roster";
import { Decision } from "../scheduling/decision";
import { Admitter } from "./admitter";
import { PathKind } from "../request/paths";
import { AdmissionCall } from "../scheduling/admission/admission-call";
import { Request } from "../request/request";

export const NS_PER_SECOND: f64 = 1e9;
const NOT_SEEN: f64 = -1;

/** One per stream, pooled with it; `Router` fills it. */
@final
export class Turnaround {
  readonly request: Request = new Request();
  readonly homes: Homes = new Homes();
  readonly decision: Decision = new Decision();
  readonly flight: InFlight = new InFlight();
  /** The request as admission sees it; `session` 0 = it does not. */
  readonly call: AdmissionCall = new AdmissionCall();
  /** The fleet of the cluster that the route names; null until the request is decided. */
  fleet: Fleet | null = null;
  /** Requests with another one may be routed elsewhere. */
  route: u64 = 0;
  /** What the path says about the body. */
  path: PathKind = PathKind.Leave;
  /** Admission of that fleet; null where it is off. */
  admitter: Admitter | null = null;
  /** Body bytes that wait in Envoy's buffers while the request waits. */
  heldBytes: u32 = 0;
  /** The program whose call this is, 0 = no priority was given; and its longest path when the call was sent. */
  program: u64 = 0;
  inheritedSeconds: f64 = 0;
  /** Hash of the tenant: seeds every key. */
  tenant: u64 = 0;
  /** What is written as `x-smetric-session`. */
  session: u64 = 0;
  /** The client sent headers that the decision is to overwrite: the request may not go on with them. */
  forged: bool = false;
  /** Envoy was told `decision.slot`. */
  pinned: bool = false;
  /** Generation of that slot then. */
  pinnedGeneration: u16 = 0;
  /** Endpoint that answered with 2xx. */
  servedSlot: i32 = NO_SLOT;
  /** q and f of the endpoint when the request was sent to it, without this request. */
  queuedTokens: f64 = 0;
  contextTokens: f64 = 0;
  /** When the request was let go and when the first token came back, ns; 0 = not yet. */
  sentNs: u64 = 0;
  firstTokenNs: u64 = 0;
  /** The request is stored in affinity. */
  learned: bool = false;

  /** Time to the first token of a streamed answer, in seconds since the request was let go; -1 = not seen. */
  get ttftSeconds(): f64 {
    const first = this.firstTokenNs;
    return first > this.sentNs ? <f64>(first - this.sentNs) / NS_PER_SECOND : NOT_SEEN;
  }

  reset(): void {
    this.fleet = null;
    this.admitter = null;
    this.heldBytes = 0;
    this.program = 0;
    this.call.reset();
    this.homes.reset();
    this.request.forget();
    this.decision.clear();
    this.tenant = 0;
    this.session = 0;
    this.forged = false;
    this.pinned = false;
    this.servedSlot = NO_SLOT;
    this.queuedTokens = 0;
    this.contextTokens = 0;
    this.sentNs = 0;
    this.firstTokenNs = 0;
    this.learned = false;
  }
}
