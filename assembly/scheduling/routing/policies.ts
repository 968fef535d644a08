// SPDX-License-Identifier: Apache-2.0
// The table of routing policies: the names an operator writes and the classes behind them.
import { Policy } from "./policy";
import { Sticky } from "./sticky";

/** Names that `policyNamed` knows. */
export const POLICY_NAMES: StaticArray<string> = ["sticky"];

/** A new policy of that name, or null if there is none. */
export function policyNamed(name: string): Policy | null {
  if (name == "sticky") return new Sticky();
  return null;
}
