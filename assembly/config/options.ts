// SPDX-License-Identifier: Apache-2.0
// The filter's options with their defaults.
// Generated from assembly/config/options.schema.json: change that file, then run `npm run generate`.

/** Values of `mode`. */
export enum Mode {
  Observe = 0,
  Route = 1,
}

/** The value as the configuration writes it. */
export function modeName(value: Mode): string {
  switch (value) {
    case Mode.Observe:
      return "observe";
    case Mode.Route:
      return "route";
    default:
      return "";
  }
}

/** Values of `policy`. */
export enum PolicyKind {
  Priced = 0,
  Sticky = 1,
  SmetricV1 = 2,
  SmetricV2 = 3,
  Lmetric = 4,
  Agentix = 5,
  SessionHash = 6,
  LeastRequest = 7,
}

/** The value as the configuration writes it. */
export function policyKindName(value: PolicyKind): string {
  switch (value) {
    case PolicyKind.Priced:
      return "priced";
    case PolicyKind.Sticky:
      return "sticky";
    case PolicyKind.SmetricV1:
      return "smetric-v1";
    case PolicyKind.SmetricV2:
      return "smetric-v2";
    case PolicyKind.Lmetric:
      return "lmetric";
    case PolicyKind.Agentix:
      return "agentix";
    case PolicyKind.SessionHash:
      return "session-hash";
    case PolicyKind.LeastRequest:
      return "least-request";
    default:
      return "";
  }
}

/** Values of `steering`. */
export enum SteeringKind {
  Pin = 0,
  OverrideHost = 1,
  Hash = 2,
  FilterState = 3,
}

/** The value as the configuration writes it. */
export function steeringKindName(value: SteeringKind): string {
  switch (value) {
    case SteeringKind.Pin:
      return "pin";
    case SteeringKind.OverrideHost:
      return "override-host";
    case SteeringKind.Hash:
      return "hash";
    case SteeringKind.FilterState:
      return "filter-state";
    default:
      return "";
  }
}

/** Values of `first_turn`. */
export enum FirstTurn {
  Priced = 0,
  LeastRequest = 1,
}

/** The value as the configuration writes it. */
export function firstTurnName(value: FirstTurn): string {
  switch (value) {
    case FirstTurn.Priced:
      return "priced";
    case FirstTurn.LeastRequest:
      return "least-request";
    default:
      return "";
  }
}

/** Values of `tier`. */
export enum Tier {
  Auto = 0,
  None = 1,
  Full = 2,
}

/** The value as the configuration writes it. */
export function tierName(value: Tier): string {
  switch (value) {
    case Tier.Auto:
      return "auto";
    case Tier.None:
      return "none";
    case Tier.Full:
      return "full";
    default:
      return "";
  }
}

/** Values of `admission.order`. */
export enum AdmissionOrder {
  Fifo = 0,
  OldestSession = 1,
}

/** The value as the configuration writes it. */
export function admissionOrderName(value: AdmissionOrder): string {
  switch (value) {
    case AdmissionOrder.Fifo:
      return "fifo";
    case AdmissionOrder.OldestSession:
      return "oldest-session";
    default:
      return "";
  }
}

/** Values of `priority.scheme`. */
export enum PriorityScheme {
  None = 0,
  Plas = 1,
  Atlas = 2,
  Astraea = 3,
  ProgramFcfs = 4,
}

/** The value as the configuration writes it. */
export function prioritySchemeName(value: PriorityScheme): string {
  switch (value) {
    case PriorityScheme.None:
      return "none";
    case PriorityScheme.Plas:
      return "plas";
    case PriorityScheme.Atlas:
      return "atlas";
    case PriorityScheme.Astraea:
      return "astraea";
    case PriorityScheme.ProgramFcfs:
      return "program-fcfs";
    default:
      return "";
  }
}

/** Values of `priority.order`. */
export enum PriorityOrder {
  LowFirst = 0,
  HighFirst = 1,
}

/** The value as the configuration writes it. */
export function priorityOrderName(value: PriorityOrder): string {
  switch (value) {
    case PriorityOrder.LowFirst:
      return "low-first";
    case PriorityOrder.HighFirst:
      return "high-first";
    default:
      return "";
  }
}

/** Values of `priority.program_scope`. */
export enum ProgramScope {
  Session = 0,
  Family = 1,
}

/** The value as the configuration writes it. */
export function programScopeName(value: ProgramScope): string {
  switch (value) {
    case ProgramScope.Session:
      return "session";
    case ProgramScope.Family:
      return "family";
    default:
      return "";
  }
}

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
  policy: PolicyKind = PolicyKind.Sticky;
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
  /** Milliseconds between two looks at held requests. */
  tickMs: i32 = 50;
  /**
   * Bytes of a body that are copied into the filter at a time. Memory for it is taken once per
   * worker.
   */
  bodyWindowBytes: i32 = 65536;
  /**
   * Sessions whose prefixes are remembered; the oldest goes first. Each takes about half a
   * kilobyte of Envoy's memory, 1.35 KB at most, shared by all workers.
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
   * Also write the `x-smetric-*` headers to the response. They tell a client whether a prompt
   * was seen before, so leave this off where clients do not trust each other.
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
  /** Requests that may wait at once in one worker; more are let through. */
  admissionMaxHeld: i32 = 1024;
  /** Body bytes that waiting requests may keep in one worker's buffers; more are let through. */
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
   * Prefill/decode disaggregation where the decode side orchestrates: request header that names
   * the chosen prefill endpoint as `ip:port`. Empty: not written.
   */
  prefillHeader: string = "";
}
