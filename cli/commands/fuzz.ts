// SPDX-License-Identifier: Apache-2.0
// The fuzz command: the differential test of the request reader, for as long as wanted.
import { randomInt } from "node:crypto";
import { Failure } from "../failure.ts";
import { test } from "./test.ts";

/** Test files are stopped after a quarter of an hour, so a long run is several of them. */
const ROUND_MINUTES = 10;
const MAX_SEED = 2 ** 31;

export interface FuzzOptions {
  minutes: string;
  seed?: string;
}

/** @throws Failure when the two readers differ (seeds and shortest bodies are on stdout) or an option is wrong */
export async function fuzz(options: FuzzOptions): Promise<void> {
  let left = Number(options.minutes);
  if (!(left > 0)) throw new Failure(`--minutes must be a positive number, not ${options.minutes}`);
  let seed = options.seed === undefined ? randomInt(MAX_SEED) : Number(options.seed);
  if (!Number.isSafeInteger(seed))
    throw new Failure(`--seed must be an integer, not ${options.seed}`);
  while (left > 0) {
    console.log(`from seed ${seed}`);
    process.env["SMETRIC_FUZZ_MINUTES"] = String(Math.min(left, ROUND_MINUTES));
    process.env["SMETRIC_FUZZ_SEED"] = String(seed);
    await test(["host"], { only: "differential" });
    left -= ROUND_MINUTES;
    seed = randomInt(MAX_SEED);
  }
}
