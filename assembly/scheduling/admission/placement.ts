// SPDX-License-Identifier: Apache-2.0
// Where a held request goes: home while something of it is left there, else where relative fill is lowest.
import { Loads } from "../../memory/loads";
import { candidateOf, NO_INDEX } from "../routing/policy";
import { AdmissionCall } from "./admission-call";
import { Endpoints } from "./endpoints";

/** The head of the queue goes home with this share of its prompt left. */
const HOME_SHARE: f64 = 0.3;
/** A held request goes only where less uncached prefill is pending: losses are reported late. */
export const PACE_TOKENS: f64 = 16_000;
/** Weight of pending prefill beside resident tokens, and what a home is worth. */
const PENDING_WEIGHT: f64 = 5;
const HOME_BONUS: f64 = 0.2;
/** An unknown capacity counts as the largest known one, and at least as this. */
const UNKNOWN_CAPACITY: f64 = 1_000_000;

/** Answer of `place`, reused. */
export class Placement {
  /** Row of the endpoint to take, or NO_INDEX. */
  row: i32 = NO_INDEX;
  /** Home is the place, but too much prefill is pending there: the next in line may go elsewhere. */
  paced: bool = false;
  /** Nothing fits anywhere. */
  full: bool = false;
}

/** Finds a place for one held request, by the states as this VM saw them last. */
export function place(
  call: AdmissionCall,
  loads: Loads,
  endpoints: Endpoints,
  placement: Placement,
): void {
  placement.row = NO_INDEX;
  placement.paced = false;
  placement.full = false;
  const home = candidateOf(loads, call.home);
  if (home != NO_INDEX && isHomeOpen(call, endpoints)) {
    placement.paced = loads.pendingPrefill[home] >= PACE_TOKENS;
    if (!placement.paced) placement.row = home;
    return;
  }
  const unknown = largestKnown(loads, endpoints);
  const spills = allForeign(loads);
  let lowest: f64 = Infinity;
  placement.full = true;
  for (let i = 0; i < loads.count; i++) {
    if (loads.foreign[i] && !spills) continue;
    const endpoint = endpoints.view(loads.slots[i]);
    if (!endpoint.fits(call.promptTokens)) continue;
    placement.full = false;
    if (loads.pendingPrefill[i] >= PACE_TOKENS) continue;
    const capacity = min(endpoint.capacity.tokens, unknown);
    const used = endpoint.stack.residentTokens + PENDING_WEIGHT * loads.pendingPrefill[i];
    const fill = used / capacity - (loads.slots[i] == call.home ? HOME_BONUS : 0);
    if (fill >= lowest) continue;
    lowest = fill;
    placement.row = i;
  }
}

/** Home, or the endpoint with the fewest resident tokens: for a request that has waited too long. */
export function homeOrEmptiest(call: AdmissionCall, loads: Loads, endpoints: Endpoints): i32 {
  let row = candidateOf(loads, call.home);
  if (row != NO_INDEX) return row;
  const spills = allForeign(loads);
  let lowest: f64 = Infinity;
  for (let i = 0; i < loads.count; i++) {
    if (loads.foreign[i] && !spills) continue;
    const resident = endpoints.view(loads.slots[i]).stack.residentTokens;
    if (resident >= lowest) continue;
    lowest = resident;
    row = i;
  }
  return row;
}

function isHomeOpen(call: AdmissionCall, endpoints: Endpoints): bool {
  const endpoint = endpoints.view(call.home);
  if (!endpoint.fits(call.promptTokens)) return false;
  return endpoint.warmTokens(call.session, call.expectedTokens) > HOME_SHARE * call.promptTokens;
}

function largestKnown(loads: Loads, endpoints: Endpoints): f64 {
  let largest = UNKNOWN_CAPACITY;
  for (let i = 0; i < loads.count; i++) {
    const tokens = endpoints.view(loads.slots[i]).capacity.tokens;
    if (isFinite(tokens)) largest = max(largest, tokens);
  }
  return largest;
}

function allForeign(loads: Loads): bool {
  for (let i = 0; i < loads.count; i++) {
    if (!loads.foreign[i]) return false;
  }
  return true;
}
