// SPDX-License-Identifier: Apache-2.0
// Ways to admit sessions by the names that commands take: `off`, `learned`, `given`, `fixed:0.8`, `aimd`.
import { Failure } from "../../../cli/failure.ts";

export const ADMISSION_NAMES: readonly string[] = [
  "off",
  "learned",
  "given",
  "fixed:<share>",
  "aimd",
];

/** Separates policy and admission in the name of an arm: `sticky+learned`. */
const JOINT = "+";
const MOST_SHARE = 10;

/** One way. */
export interface AdmissionArm {
  /** Fields of the filter's `admission`, null for what the filter does not do. */
  configuration: object | null;
  name: "off" | "learned" | "given" | "fixed" | "aimd";
}

/** The name of an arm that combines both. */
export function joinArm(policy: string, admission: string): string {
  return admission === "off" ? policy : `${policy}${JOINT}${admission}`;
}

/** Policy and admission of an arm's name. */
export function splitArm(arm: string): { policy: string; admission: string } {
  const [policy = "", ...rest] = arm.split(JOINT);
  return { policy, admission: rest.length === 0 ? "off" : rest.join(JOINT) };
}

/**
 * @param kvTokens true capacity of an endpoint, for the ways that are told it
 * @throws Failure for a name that is none, or a share out of range
 */
export function admissionNamed(text: string, kvTokens: number): AdmissionArm {
  const [name, share, ...more] = text.split(":");
  if (name === "fixed" && more.length === 0) {
    const value = Number(share);
    if (!(value >= 0.01 && value <= MOST_SHARE)) {
      throw new Failure(`--admission ${text}: fixed takes a share from 0.01 to ${MOST_SHARE}`);
    }
    const window = { capacity_tokens: kvTokens, window_percent: Math.round(value * 100) };
    return { name, configuration: { enabled: true, ...window } };
  }
  if (share === undefined) {
    if (name === "off" || name === "aimd") return { name, configuration: null };
    if (name === "learned") return { name, configuration: { enabled: true } };
    if (name === "given")
      return { name, configuration: { enabled: true, capacity_tokens: kvTokens } };
  }
  throw new Failure(`--admission ${text}: allowed are ${ADMISSION_NAMES.join(", ")}`);
}
