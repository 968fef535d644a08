// SPDX-License-Identifier: Apache-2.0
// The CPU time of another process, as Linux counts it.
import { readdirSync, readFileSync } from "node:fs";

/** Microseconds that all threads of a process have run so far. */
export function cpuTimeUs(pid: number): number {
  const folder = `/proc/${pid}/task`;
  let ns = 0;
  for (const thread of readdirSync(folder)) {
    const [ran = ""] = readFileSync(`${folder}/${thread}/schedstat`, "utf8").split(" ");
    ns += Number(ran);
  }
  return ns / 1_000;
}
