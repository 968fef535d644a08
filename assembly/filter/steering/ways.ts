// SPDX-License-Identifier: Apache-2.0
// The table of ways to steer: which class stands behind each value of the option.
import { SteeringKind } from "../../config/options";
import { FilterStateSteering } from "./filter-state";
import { HashSteering } from "./hash";
import { OverrideHostSteering } from "./override-host";
import { PinSteering } from "./pin";
import { Steering } from "./steering";

export function steeringOf(kind: SteeringKind): Steering {
  switch (kind) {
    case SteeringKind.OverrideHost:
      return new OverrideHostSteering();
    case SteeringKind.Hash:
      return new HashSteering();
    case SteeringKind.FilterState:
      return new FilterStateSteering();
    default:
      return new PinSteering();
  }
}
