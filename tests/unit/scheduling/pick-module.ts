// SPDX-License-Identifier: Apache-2.0
// The pick of a policy as a module of its own, for the bench: one request before a fleet, again and again.
import { PolicyKind } from "../../../assembly/config/options";
import { Policy } from "../../../assembly/scheduling/routing/policy";
import { policyOf } from "../../../assembly/scheduling/routing/policies";
import { NOW_MS, Scene } from "./routing/scene";

const PROMPT_TOKENS: u32 = 60_000;

let scene: Scene = new Scene(1, PROMPT_TOKENS);
let policy: Policy = policyOf(PolicyKind.Priced, scene.options, scene.learned);

/** A fleet in use, and a first turn or a follow-up with two homes before it. */
export function prepare(endpoints: i32, followUp: bool): void {
  scene = new Scene(endpoints, PROMPT_TOKENS);
  for (let row = 0; row < endpoints; row++) {
    scene.load(row, <f64>((row * 7_919) % 30_000), <f64>(200_000 + row * 1_000), row % 9, 900_000);
  }
  if (followUp) scene.home(endpoints / 2, 58_000).home(0, 40_000);
  policy = policyOf(PolicyKind.Priced, scene.options, scene.learned);
}

/** @returns a sum of the choices, so that none of them can be left out */
export function pick(count: i32): i32 {
  let sum = 0;
  for (let i = 0; i < count; i++) {
    policy.pick(scene.request, scene.homes, scene.loads, NOW_MS + <u64>i, <u64>i, scene.decision);
    sum += scene.decision.slot;
  }
  return sum;
}
