// SPDX-License-Identifier: Apache-2.0
// The table of fields that the reader walks, and how each is set.
// Generated from assembly/config/options.schema.json: change that file, then run `npm run generate`.

import { Alphabet, choice, Field, flag, integer, secret, text, texts } from "./field";
import {
  Options,
  Mode,
  PolicyKind,
  SteeringKind,
  FirstTurn,
  Tier,
  AdmissionOrder,
  PriorityScheme,
  PriorityOrder,
  ProgramScope,
} from "./options";

/** All fields; the index of a row is the field's number below. */
export function allFields(): Field[] {
  return [
    choice("mode", ["observe", "route"], 'one of "observe", "route"'),
    choice(
      "policy",
      [
        "priced",
        "sticky",
        "smetric-v1",
        "smetric-v2",
        "lmetric",
        "agentix",
        "session-hash",
        "least-request",
      ],
      'one of "priced", "sticky", "smetric-v1", "smetric-v2", "lmetric", "agentix", "session-hash", "least-request"',
    ),
    choice(
      "steering",
      ["pin", "override-host", "hash", "filter-state"],
      'one of "pin", "override-host", "hash", "filter-state"',
    ),
    choice("first_turn", ["priced", "least-request"], 'one of "priced", "least-request"'),
    choice("tier", ["auto", "none", "full"], 'one of "auto", "none", "full"'),
    integer("short_prompt_tokens", 0, 10000000, "an integer from 0 to 10000000"),
    texts(
      "session_headers",
      8,
      Alphabet.HeaderName,
      1,
      128,
      "a list of at most 8 texts, each a header name of 1 to 128 characters",
    ),
    text(
      "tenant_header",
      Alphabet.HeaderName,
      0,
      128,
      'a header name of at most 128 characters, or ""',
    ),
    flag("trust_agent_headers", "true or false"),
    text(
      "agent_session_header",
      Alphabet.HeaderName,
      0,
      128,
      'a header name of at most 128 characters, or ""',
    ),
    text(
      "agent_turn_header",
      Alphabet.HeaderName,
      0,
      128,
      'a header name of at most 128 characters, or ""',
    ),
    text(
      "agent_parent_header",
      Alphabet.HeaderName,
      0,
      128,
      'a header name of at most 128 characters, or ""',
    ),
    text(
      "agent_final_header",
      Alphabet.HeaderName,
      0,
      128,
      'a header name of at most 128 characters, or ""',
    ),
    flag("skip_billing_nonce", "true or false"),
    texts(
      "extra_paths",
      16,
      Alphabet.PathEnd,
      2,
      256,
      "a list of at most 16 texts, each a path that begins with / of 2 to 256 characters",
    ),
    integer("hold_cap_bytes", 4096, 1073741824, "an integer from 4096 to 1073741824"),
    integer("hold_stall_ms", 50, 60000, "an integer from 50 to 60000"),
    integer("tick_ms", 10, 1000, "an integer from 10 to 1000"),
    integer("body_window_bytes", 4096, 1048576, "an integer from 4096 to 1048576"),
    integer("affinity_sessions", 64, 1048576, "an integer from 64 to 1048576"),
    integer("endpoint_ttl_ms", 1000, 86400000, "an integer from 1000 to 86400000"),
    secret(
      "hash_seed",
      Alphabet.Printable,
      0,
      256,
      'a printable ASCII text of at most 256 characters, or ""',
    ),
    flag("decision_headers", "true or false"),
    flag("expose_decision", "true or false"),
    flag("record", "true or false"),
    flag("admission.enabled", "true or false"),
    flag("admission.dry_run", "true or false"),
    choice("admission.order", ["fifo", "oldest-session"], 'one of "fifo", "oldest-session"'),
    integer("admission.capacity_tokens", 0, 1000000000, "an integer from 0 to 1000000000"),
    integer("admission.window_percent", 0, 1000, "an integer from 0 to 1000"),
    integer("admission.hold_limit_ms", 0, 86400000, "an integer from 0 to 86400000"),
    integer("admission.max_held", 1, 65536, "an integer from 1 to 65536"),
    integer(
      "admission.max_held_bytes",
      1048576,
      2147483647,
      "an integer from 1048576 to 2147483647",
    ),
    flag("admission.refuse_first_turns", "true or false"),
    integer("gateways.index", 0, 1023, "an integer from 0 to 1023"),
    integer("gateways.count", 1, 1024, "an integer from 1 to 1024"),
    choice(
      "priority.scheme",
      ["none", "plas", "atlas", "astraea", "program-fcfs"],
      'one of "none", "plas", "atlas", "astraea", "program-fcfs"',
    ),
    text(
      "priority.header",
      Alphabet.HeaderName,
      0,
      128,
      'a header name of at most 128 characters, or ""',
    ),
    choice("priority.order", ["low-first", "high-first"], 'one of "low-first", "high-first"'),
    choice("priority.program_scope", ["session", "family"], 'one of "session", "family"'),
    text(
      "prefill_header",
      Alphabet.HeaderName,
      0,
      128,
      'a header name of at most 128 characters, or ""',
    ),
    texts(
      "prefill_endpoints",
      64,
      Alphabet.Printable,
      3,
      60,
      "a list of at most 64 texts, each a printable ASCII text of 3 to 60 characters",
    ),
  ];
}

/** Paths of nested groups. */
export function allGroups(): string[] {
  return ["admission", "gateways", "priority"];
}

export function setFlag(options: Options, field: i32, value: bool): void {
  switch (field) {
    case 8:
      options.trustAgentHeaders = value;
      break;
    case 13:
      options.skipBillingNonce = value;
      break;
    case 22:
      options.decisionHeaders = value;
      break;
    case 23:
      options.exposeDecision = value;
      break;
    case 24:
      options.record = value;
      break;
    case 25:
      options.admissionEnabled = value;
      break;
    case 26:
      options.admissionDryRun = value;
      break;
    case 33:
      options.admissionRefuseFirstTurns = value;
      break;
    default:
      break;
  }
}

/** Sets an integer, or a choice by the number of its name. */
export function setInteger(options: Options, field: i32, value: i32): void {
  switch (field) {
    case 0:
      options.mode = <Mode>value;
      break;
    case 1:
      options.policy = <PolicyKind>value;
      break;
    case 2:
      options.steering = <SteeringKind>value;
      break;
    case 3:
      options.firstTurn = <FirstTurn>value;
      break;
    case 4:
      options.tier = <Tier>value;
      break;
    case 5:
      options.shortPromptTokens = value;
      break;
    case 15:
      options.holdCapBytes = value;
      break;
    case 16:
      options.holdStallMs = value;
      break;
    case 17:
      options.tickMs = value;
      break;
    case 18:
      options.bodyWindowBytes = value;
      break;
    case 19:
      options.affinitySessions = value;
      break;
    case 20:
      options.endpointTtlMs = value;
      break;
    case 27:
      options.admissionOrder = <AdmissionOrder>value;
      break;
    case 28:
      options.admissionCapacityTokens = value;
      break;
    case 29:
      options.admissionWindowPercent = value;
      break;
    case 30:
      options.admissionHoldLimitMs = value;
      break;
    case 31:
      options.admissionMaxHeld = value;
      break;
    case 32:
      options.admissionMaxHeldBytes = value;
      break;
    case 34:
      options.gatewaysIndex = value;
      break;
    case 35:
      options.gatewaysCount = value;
      break;
    case 36:
      options.priorityScheme = <PriorityScheme>value;
      break;
    case 38:
      options.priorityOrder = <PriorityOrder>value;
      break;
    case 39:
      options.priorityProgramScope = <ProgramScope>value;
      break;
    default:
      break;
  }
}

export function setText(options: Options, field: i32, value: string): void {
  switch (field) {
    case 7:
      options.tenantHeader = value;
      break;
    case 9:
      options.agentSessionHeader = value;
      break;
    case 10:
      options.agentTurnHeader = value;
      break;
    case 11:
      options.agentParentHeader = value;
      break;
    case 12:
      options.agentFinalHeader = value;
      break;
    case 21:
      options.hashSeed = value;
      break;
    case 37:
      options.priorityHeader = value;
      break;
    case 40:
      options.prefillHeader = value;
      break;
    default:
      break;
  }
}

/** Replaces a list. */
export function setTexts(options: Options, field: i32, value: string[]): void {
  switch (field) {
    case 6:
      options.sessionHeaders = value;
      break;
    case 14:
      options.extraPaths = value;
      break;
    case 41:
      options.prefillEndpoints = value;
      break;
    default:
      break;
  }
}
