// SPDX-License-Identifier: Apache-2.0
// The filter's options with their defaults.
// Generated from assembly/config/options.schema.json: change that file, then run `npm run generate`.

import {
  Mode,
  PolicyKind,
  SteeringKind,
  FirstTurn,
  Tier,
  AdmissionOrder,
  PriorityScheme,
  PriorityOrder,
  ProgramScope,
} from "./choices";

export * from "./choices";

/** All options; a new object holds the defaults. */
export class Options {
  /**
   * `route` acts on requests. `observe` never holds a request and writes no header: it only
   * counts and records what `route` would have done.
   */
  mode: Mode = Mode.Route;
  /**
   * How an endpoint is picked. `priced` weighs load against recomputation in learned seconds;
   * `sticky` sends every verified follow-up home and leaves the rest to Envoy; `smetric-v1`,
   * `smetric-v2`, `lmetric` and `agentix` are the published policies; `session-hash` and
   * `least-request` leave the choice to a hash or to Envoy.
   */
  policy: PolicyKind = PolicyKind.Priced;
  /**
   * How Envoy is told. `pin` writes the header of the `stateful_session` filter;
   * `override-host` writes a plain address for the `override_host` load balancing policy;
   * `hash` writes the turn and a hash key for two clusters; `filter-state` leaves the decision
   * where `header_mutation` can read it, for Envoys that cannot hold headers.
   */
  steering: SteeringKind = SteeringKind.Pin;
  /**
   * Who places first turns and requests without a home: the policy's price, or Envoy's least
   * request.
   */
  firstTurn: FirstTurn = FirstTurn.Priced;
  /**
   * Whether a global KV tier stands behind the endpoints: `none`, `full` (every endpoint can
   * fetch every prefix), or `auto` (learned from the cached tokens that endpoints report).
   */
  tier: Tier = Tier.Auto;
  /** Prompts up to this many tokens count as short and are balanced by load. Used by `agentix`. */
  shortPromptTokens: i32 = 2048;
  /**
   * Request headers that carry a session id which you vouch for; the first one present wins
   * over every other source.
   */
  sessionHeaders: string[] = [];
  /**
   * Request header that names the tenant, set by your own authentication. Prefixes are never
   * shared across tenants. Empty: one tenant.
   */
  tenantHeader: string = "";
  /**
   * Let the agent headers below decide by themselves, without reading the body. Set it only
   * where clients are your own.
   */
  trustAgentHeaders: bool = false;
  /** Header in which an agent framework tells its session id. Empty: not read. */
  agentSessionHeader: string = "x-agent-session";
  /** Header in which an agent framework tells the turn number. Empty: not read. */
  agentTurnHeader: string = "x-agent-turn";
  /**
   * Header in which an agent framework tells the session that started this one. Empty: not
   * read.
   */
  agentParentHeader: string = "x-agent-parent";
  /**
   * Header in which an agent framework says that this is the session's last request. Empty: not
   * read.
   */
  agentFinalHeader: string = "x-agent-final";
  /**
   * Leave out the per-request nonce that some clients put in front of their system text, which
   * no prompt template renders alike twice.
   */
  skipBillingNonce: bool = true;
  /**
   * Ends of request paths that are read as well, beside the known API paths; `/v2/chat` matches
   * `/proxy/v2/chat`.
   */
  extraPaths: string[] = [];
  /**
   * Longest request body that is held until its end; a longer one is released with the best
   * answer so far. Keep it below the smallest buffer limit on the way.
   */
  holdCapBytes: i32 = 16777216;
  /**
   * A held request that gets no new byte for this many milliseconds is released with the best
   * answer so far.
   */
  holdStallMs: i32 = 1000;
  /**
   * Milliseconds between two ticks: held requests are looked at, and what a worker has counted
   * and learned is given to the others and to Envoy's stats. A worker without streams for ten
   * seconds ticks twice a second at most, until the next stream comes.
   */
  tickMs: i32 = 50;
  /**
   * Bytes of a body that are copied into the filter at a time. Memory for it is taken once per
   * worker.
   */
  bodyWindowBytes: i32 = 65536;
  /**
   * Sessions whose prefixes are remembered; the oldest goes first. Each takes about half a
   * kilobyte of Envoy's memory, 1.35 KB at most (0.15 more with a priority scheme), shared by
   * all workers.
   */
  affinitySessions: i32 = 65536;
  /** An endpoint that served nothing for this many milliseconds is forgotten. */
  endpointTtlMs: i32 = 600000;
  /**
   * Secret that seeds every hash. Give all gateways the same one if they are to write the same
   * session keys. Empty: drawn at random, shared by the workers of one Envoy.
   */
  hashSeed: string = "";
  /**
   * Write turn, verified turn, session, prefix tokens and decision to requests as `x-smetric-*`
   * headers, for logs and routes. Without them the endpoint is named all the same, and a
   * request costs 4 to 7 us less CPU time. Steering `hash` routes by them and writes them
   * always.
   */
  decisionHeaders: bool = true;
  /**
   * Also write the `x-smetric-*` headers to the response. They tell a client whether a prompt
   * was seen before, so leave this off where clients do not trust each other. Without effect
   * where `mode` is `observe`.
   */
  exposeDecision: bool = false;
  /** Leave one record a request in filter state for the access log: hashes and numbers, no text. */
  record: bool = false;
  /** Hold sessions whose context does not fit. */
  admissionEnabled: bool = false;
  /** Only count what would be held; every request goes on at once. */
  admissionDryRun: bool = false;
  /**
   * Who goes first among the held: `fifo` gives the best throughput, `oldest-session` the best
   * job times.
   */
  admissionOrder: AdmissionOrder = AdmissionOrder.Fifo;
  /**
   * KV tokens that one endpoint can hold. 0: measured from the cached tokens that answers
   * report.
   */
  admissionCapacityTokens: i32 = 0;
  /**
   * Share of a given `capacity_tokens` that resident sessions may take, in percent. 0: the
   * usual one.
   */
  admissionWindowPercent: i32 = 0;
  /**
   * A request is let through after this many milliseconds; 0: never. At a minute or less most
   * of the gain is gone.
   */
  admissionHoldLimitMs: i32 = 300000;
  /** Requests for one cluster that may wait at once in one worker; more are let through. */
  admissionMaxHeld: i32 = 1024;
  /**
   * Body bytes that waiting requests for one cluster may keep in one worker's buffers; more are
   * let through.
   */
  admissionMaxHeldBytes: i32 = 1073741824;
  /**
   * Answer first turns beyond these bounds with 429 and `Retry-After` instead of letting them
   * through.
   */
  admissionRefuseFirstTurns: bool = false;
  /** Number of this gateway, from 0. */
  gatewaysIndex: i32 = 0;
  /** How many gateways there are. */
  gatewaysCount: i32 = 1;
  /**
   * `plas` and `atlas` order by attained service of the program, `astraea` by state-aware
   * levels, `program-fcfs` by the program's arrival. `none`: no header is written.
   */
  priorityScheme: PriorityScheme = PriorityScheme.None;
  /** Request header that the engine reads the priority from; clients' own values are stripped. */
  priorityHeader: string = "x-vllm-priority";
  /** Which number the engine serves first: `low-first` (vLLM) or `high-first` (SGLang). */
  priorityOrder: PriorityOrder = PriorityOrder.LowFirst;
  /** What a program is: each session, or a session with all its children. */
  priorityProgramScope: ProgramScope = ProgramScope.Family;
  /**
   * Prefill/decode disaggregation where the decode side orchestrates: request header in which
   * the chosen prefill endpoint is named as `ip:port` (llm-d's routing sidecar reads
   * `x-prefiller-host-port`). Needs `prefill_endpoints`; Envoy itself places the request among
   * the decode endpoints.
   */
  prefillHeader: string = "";
  /**
   * Addresses (`ip:port`) of the prefill endpoints to choose from; needs `prefill_header`.
   * Empty: no disaggregation.
   */
  prefillEndpoints: string[] = [];
}
