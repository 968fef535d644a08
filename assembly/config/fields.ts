// SPDX-License-Identifier: Apache-2.0
// The table of fields that the reader walks, and how each is set.
// Generated from assembly/config/options.schema.json: change that file, then run `npm run generate`.

import { Alphabet, Field, Kind } from "./field";
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
    new Field(
      "mode",
      Kind.Choice,
      0,
      0,
      0,
      Alphabet.Printable,
      ["observe", "route"],
      'one of "observe", "route"',
      false,
    ),
    new Field(
      "policy",
      Kind.Choice,
      0,
      0,
      0,
      Alphabet.Printable,
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
      false,
    ),
    new Field(
      "steering",
      Kind.Choice,
      0,
      0,
      0,
      Alphabet.Printable,
      ["pin", "override-host", "hash", "filter-state"],
      'one of "pin", "override-host", "hash", "filter-state"',
      false,
    ),
    new Field(
      "first_turn",
      Kind.Choice,
      0,
      0,
      0,
      Alphabet.Printable,
      ["priced", "least-request"],
      'one of "priced", "least-request"',
      false,
    ),
    new Field(
      "tier",
      Kind.Choice,
      0,
      0,
      0,
      Alphabet.Printable,
      ["auto", "none", "full"],
      'one of "auto", "none", "full"',
      false,
    ),
    new Field(
      "short_prompt_tokens",
      Kind.Integer,
      0,
      10000000,
      0,
      Alphabet.Printable,
      [],
      "an integer from 0 to 10000000",
      false,
    ),
    new Field(
      "session_headers",
      Kind.Texts,
      1,
      128,
      8,
      Alphabet.HeaderName,
      [],
      "a list of at most 8 texts, each a header name of 1 to 128 characters",
      false,
    ),
    new Field(
      "tenant_header",
      Kind.Text,
      0,
      128,
      0,
      Alphabet.HeaderName,
      [],
      'a header name of at most 128 characters, or ""',
      false,
    ),
    new Field(
      "trust_agent_headers",
      Kind.Flag,
      0,
      0,
      0,
      Alphabet.Printable,
      [],
      "true or false",
      false,
    ),
    new Field(
      "agent_session_header",
      Kind.Text,
      0,
      128,
      0,
      Alphabet.HeaderName,
      [],
      'a header name of at most 128 characters, or ""',
      false,
    ),
    new Field(
      "agent_turn_header",
      Kind.Text,
      0,
      128,
      0,
      Alphabet.HeaderName,
      [],
      'a header name of at most 128 characters, or ""',
      false,
    ),
    new Field(
      "agent_parent_header",
      Kind.Text,
      0,
      128,
      0,
      Alphabet.HeaderName,
      [],
      'a header name of at most 128 characters, or ""',
      false,
    ),
    new Field(
      "agent_final_header",
      Kind.Text,
      0,
      128,
      0,
      Alphabet.HeaderName,
      [],
      'a header name of at most 128 characters, or ""',
      false,
    ),
    new Field(
      "skip_billing_nonce",
      Kind.Flag,
      0,
      0,
      0,
      Alphabet.Printable,
      [],
      "true or false",
      false,
    ),
    new Field(
      "extra_paths",
      Kind.Texts,
      2,
      256,
      16,
      Alphabet.PathEnd,
      [],
      "a list of at most 16 texts, each a path that begins with / of 2 to 256 characters",
      false,
    ),
    new Field(
      "hold_cap_bytes",
      Kind.Integer,
      4096,
      1073741824,
      0,
      Alphabet.Printable,
      [],
      "an integer from 4096 to 1073741824",
      false,
    ),
    new Field(
      "hold_stall_ms",
      Kind.Integer,
      50,
      60000,
      0,
      Alphabet.Printable,
      [],
      "an integer from 50 to 60000",
      false,
    ),
    new Field(
      "tick_ms",
      Kind.Integer,
      10,
      1000,
      0,
      Alphabet.Printable,
      [],
      "an integer from 10 to 1000",
      false,
    ),
    new Field(
      "body_window_bytes",
      Kind.Integer,
      4096,
      1048576,
      0,
      Alphabet.Printable,
      [],
      "an integer from 4096 to 1048576",
      false,
    ),
    new Field(
      "affinity_sessions",
      Kind.Integer,
      64,
      1048576,
      0,
      Alphabet.Printable,
      [],
      "an integer from 64 to 1048576",
      false,
    ),
    new Field(
      "endpoint_ttl_ms",
      Kind.Integer,
      1000,
      86400000,
      0,
      Alphabet.Printable,
      [],
      "an integer from 1000 to 86400000",
      false,
    ),
    new Field(
      "hash_seed",
      Kind.Text,
      0,
      256,
      0,
      Alphabet.Printable,
      [],
      'a printable ASCII text of at most 256 characters, or ""',
      true,
    ),
    new Field(
      "expose_decision",
      Kind.Flag,
      0,
      0,
      0,
      Alphabet.Printable,
      [],
      "true or false",
      false,
    ),
    new Field("record", Kind.Flag, 0, 0, 0, Alphabet.Printable, [], "true or false", false),
    new Field(
      "admission.enabled",
      Kind.Flag,
      0,
      0,
      0,
      Alphabet.Printable,
      [],
      "true or false",
      false,
    ),
    new Field(
      "admission.dry_run",
      Kind.Flag,
      0,
      0,
      0,
      Alphabet.Printable,
      [],
      "true or false",
      false,
    ),
    new Field(
      "admission.order",
      Kind.Choice,
      0,
      0,
      0,
      Alphabet.Printable,
      ["fifo", "oldest-session"],
      'one of "fifo", "oldest-session"',
      false,
    ),
    new Field(
      "admission.capacity_tokens",
      Kind.Integer,
      0,
      1000000000,
      0,
      Alphabet.Printable,
      [],
      "an integer from 0 to 1000000000",
      false,
    ),
    new Field(
      "admission.window_percent",
      Kind.Integer,
      0,
      1000,
      0,
      Alphabet.Printable,
      [],
      "an integer from 0 to 1000",
      false,
    ),
    new Field(
      "admission.hold_limit_ms",
      Kind.Integer,
      0,
      86400000,
      0,
      Alphabet.Printable,
      [],
      "an integer from 0 to 86400000",
      false,
    ),
    new Field(
      "admission.max_held",
      Kind.Integer,
      1,
      65536,
      0,
      Alphabet.Printable,
      [],
      "an integer from 1 to 65536",
      false,
    ),
    new Field(
      "admission.max_held_bytes",
      Kind.Integer,
      1048576,
      2147483647,
      0,
      Alphabet.Printable,
      [],
      "an integer from 1048576 to 2147483647",
      false,
    ),
    new Field(
      "admission.refuse_first_turns",
      Kind.Flag,
      0,
      0,
      0,
      Alphabet.Printable,
      [],
      "true or false",
      false,
    ),
    new Field(
      "gateways.index",
      Kind.Integer,
      0,
      1023,
      0,
      Alphabet.Printable,
      [],
      "an integer from 0 to 1023",
      false,
    ),
    new Field(
      "gateways.count",
      Kind.Integer,
      1,
      1024,
      0,
      Alphabet.Printable,
      [],
      "an integer from 1 to 1024",
      false,
    ),
    new Field(
      "priority.scheme",
      Kind.Choice,
      0,
      0,
      0,
      Alphabet.Printable,
      ["none", "plas", "atlas", "astraea", "program-fcfs"],
      'one of "none", "plas", "atlas", "astraea", "program-fcfs"',
      false,
    ),
    new Field(
      "priority.header",
      Kind.Text,
      0,
      128,
      0,
      Alphabet.HeaderName,
      [],
      'a header name of at most 128 characters, or ""',
      false,
    ),
    new Field(
      "priority.order",
      Kind.Choice,
      0,
      0,
      0,
      Alphabet.Printable,
      ["low-first", "high-first"],
      'one of "low-first", "high-first"',
      false,
    ),
    new Field(
      "priority.program_scope",
      Kind.Choice,
      0,
      0,
      0,
      Alphabet.Printable,
      ["session", "family"],
      'one of "session", "family"',
      false,
    ),
    new Field(
      "prefill_header",
      Kind.Text,
      0,
      128,
      0,
      Alphabet.HeaderName,
      [],
      'a header name of at most 128 characters, or ""',
      false,
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
      options.exposeDecision = value;
      break;
    case 23:
      options.record = value;
      break;
    case 24:
      options.admissionEnabled = value;
      break;
    case 25:
      options.admissionDryRun = value;
      break;
    case 32:
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
    case 26:
      options.admissionOrder = <AdmissionOrder>value;
      break;
    case 27:
      options.admissionCapacityTokens = value;
      break;
    case 28:
      options.admissionWindowPercent = value;
      break;
    case 29:
      options.admissionHoldLimitMs = value;
      break;
    case 30:
      options.admissionMaxHeld = value;
      break;
    case 31:
      options.admissionMaxHeldBytes = value;
      break;
    case 33:
      options.gatewaysIndex = value;
      break;
    case 34:
      options.gatewaysCount = value;
      break;
    case 35:
      options.priorityScheme = <PriorityScheme>value;
      break;
    case 37:
      options.priorityOrder = <PriorityOrder>value;
      break;
    case 38:
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
    case 36:
      options.priorityHeader = value;
      break;
    case 39:
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
    default:
      break;
  }
}
