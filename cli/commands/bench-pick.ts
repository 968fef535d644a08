// SPDX-License-Identifier: Apache-2.0
// The bench:pick command.
import { benchPick } from "../../lab/bench/pick.ts";

/** Prints what a choice costs, one row a fleet and kind of request. */
export async function benchPickCommand(): Promise<void> {
  for (const row of await benchPick()) console.log(JSON.stringify(row));
}
