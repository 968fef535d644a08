// SPDX-License-Identifier: Apache-2.0
// Values of the options that are one name out of a list.
// Generated from assembly/config/options.schema.json: change that file, then run `npm run generate`.

/** Values of `mode`. */
export enum Mode {
  Observe = 0,
  Route = 1,
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

/** Values of `tier`. */
export enum Tier {
  Auto = 0,
  None = 1,
  Full = 2,
}

/** Values of `admission.order`. */
export enum AdmissionOrder {
  Fifo = 0,
  OldestSession = 1,
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

/** Values of `priority.program_scope`. */
export enum ProgramScope {
  Session = 0,
  Family = 1,
}
