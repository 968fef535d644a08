// SPDX-License-Identifier: Apache-2.0
// The bench:scan command.
import { benchScan } from "../../lab/bench/scan.ts";

/** Prints how fast the request reader is, one row a body. */
export async function benchScanCommand(): Promise<void> {
  for (const row of await benchScan()) console.log(JSON.stringify(row));
}
