// SPDX-License-Identifier: Apache-2.0
// Words given on the command line, checked with a message that names flag, value and what is allowed.
import { Failure } from "./failure.ts";

/** @throws Failure for a value that is none of the allowed */
export function oneOf<T extends string>(flag: string, value: string, allowed: readonly T[]): T {
  if ((allowed as readonly string[]).includes(value)) return value as T;
  throw new Failure(`--${flag} ${value}: allowed are ${allowed.join(", ")}`);
}
