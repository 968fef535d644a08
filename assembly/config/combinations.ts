// SPDX-License-Identifier: Apache-2.0
// Fields that are allowed each by itself and cannot work together. The schema refuses the same.
import { Mode, Options, SteeringKind, steeringKindName } from "./options";

/** What cannot work, as a line that names field, value and what is allowed; empty where all can. */
export function combinationFault(options: Options): string {
  if (options.admissionEnabled && !options.admissionDryRun) {
    const admission = "admission.enabled: true is not allowed with ";
    const steering = options.steering;
    if (steering == SteeringKind.Hash || steering == SteeringKind.FilterState) {
      const name = '"' + steeringKindName(steering) + '"';
      return admission + "steering " + name + '; with "pin", "override-host" or a dry_run it is';
    }
    if (options.mode == Mode.Observe) {
      return admission + 'mode "observe"; with "route" or a dry_run it is';
    }
  }
  const header = options.prefillHeader;
  const endpoints = options.prefillEndpoints.length;
  if (header.length > 0 && endpoints == 0) {
    return 'prefill_header: "' + header + '" is not allowed without prefill_endpoints; "" is';
  }
  if (header.length == 0 && endpoints > 0) {
    return "prefill_endpoints: a list is not allowed without prefill_header; an empty list is";
  }
  return "";
}
