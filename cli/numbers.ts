// SPDX-License-Identifier: Apache-2.0
// Numbers given on the command line, checked with a message that names flag, value and what is allowed.
import { Failure } from "./failure.ts";

function within(flag: string, text: string, kind: string, least: number, most: number): Failure {
  const range = most === Infinity ? `of at least ${least}` : `from ${least} to ${most}`;
  return new Failure(`--${flag} ${text}: ${kind} ${range} is needed`);
}

/** @throws Failure unless `text` is a whole number in the range */
export function wholeNumber(flag: string, text: string, least: number, most = Infinity): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isInteger(value) && value >= least && value <= most)
    return value;
  throw within(flag, text, "a whole number", least, most);
}

/** @throws Failure unless `text` is a number in the range */
export function number(flag: string, text: string, least: number, most = Infinity): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value >= least && value <= most) return value;
  throw within(flag, text, "a number", least, most);
}
