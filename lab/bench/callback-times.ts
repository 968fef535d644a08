// SPDX-License-Identifier: Apache-2.0
// What the callbacks of a follow-up take in a real Envoy, as the filter with clocks logs it.
import { spreadOf } from "./statistics.ts";

/** Microseconds of a request, one reading of the clock a callback (0.2 us) included. */
export interface CallbackTimes {
  request_headers: number;
  request_body: number;
  response_headers: number;
  response_body: number;
  end: number;
}

const NAMES = [
  "request_headers",
  "request_body",
  "response_headers",
  "response_body",
  "end",
] as const;
/** The first lines tell of compiling, and of sessions that are new. */
const WARM_LINES = 2;

/** The lower quartile of all lines that the filter logged. */
export function callbackTimes(log: string): CallbackTimes {
  const lines = [...log.matchAll(/ callbacks ([\d ]+)/g)].map(([, means = ""]) =>
    means.trim().split(" ").map(Number),
  );
  const rows = lines.length > WARM_LINES ? lines.slice(WARM_LINES) : lines;
  const us = NAMES.map((name, at): [string, number] => {
    const means = rows.map((row) => row[at] ?? 0);
    const mean = means.length > 0 ? spreadOf(means).quartile : 0;
    return [name, Number((mean / 1_000).toFixed(1))];
  });
  return Object.fromEntries(us) as unknown as CallbackTimes;
}
