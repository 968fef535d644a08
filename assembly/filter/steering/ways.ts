// SPDX-License-Identifier: Apache-2.0
// The table of ways to steer: which class stands behind each value of the option.
import { Options, SteeringKind } from "../../config/options";
import { FilterStateSteering } from "./filter-state";
import { HashSteering } from "./hash";
import { OverrideHostSteering } from "./override-host";
import { PinSteering } from "./pin";
import { PrefillSteering } from "./prefill";
import { Steering } from "./steering";

/** The filter chooses among prefill endpoints, and Envoy among decode endpoints. */
export function isDisaggregated(options: Options): bool {
  return options.prefillHeader.length > 0 && options.prefillEndpoints.length > 0;
}

/** The way that the options ask for; prefill endpoints are always named in their own header. */
export function steeringOf(options: Options): Steering {
  if (isDisaggregated(options)) return new PrefillSteering(options.prefillHeader);
  switch (options.steering) {
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
