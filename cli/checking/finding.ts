// SPDX-License-Identifier: Apache-2.0
// What a check finds: something that will not work, or something that will hurt.

export interface Finding {
  /** `error`: does not load or does not route. `warning`: works, until it does not. */
  severity: "error" | "warning";
  /** Where in the file: `listener llm, route 1`. */
  where: string;
  message: string;
}

export function error(where: string, message: string): Finding {
  return { severity: "error", where, message };
}

export function warning(where: string, message: string): Finding {
  return { severity: "warning", where, message };
}
