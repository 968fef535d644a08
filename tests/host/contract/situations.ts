// SPDX-License-Identifier: Apache-2.0
// All contract situations, in the order in which they run.
import { BODY_SITUATIONS } from "./bodies.ts";
import { EDGE_SITUATIONS } from "./edges.ts";
import { ENDING_SITUATIONS } from "./endings.ts";
import { HOLD_SITUATIONS } from "./holds.ts";
import { PIN_SITUATIONS } from "./pins.ts";
import type { Situation } from "./world.ts";

export { REFUSALS } from "./endings.ts";

export const SITUATIONS: Situation[] = [
  ...BODY_SITUATIONS,
  ...HOLD_SITUATIONS,
  ...PIN_SITUATIONS,
  ...EDGE_SITUATIONS,
  ...ENDING_SITUATIONS,
];
