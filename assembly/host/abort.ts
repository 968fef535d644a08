// SPDX-License-Identifier: Apache-2.0
// Where AssemblyScript's abort goes: Envoy has no env.abort import, so the message goes to its log.
import { logCritical } from "./log";

/** Logs what went wrong and traps: the host reloads the VM (FAIL_RELOAD). */
export function onAbort(message: string | null, file: string | null, line: u32, column: u32): void {
  const what = message !== null ? message : "abort";
  const where = file !== null ? file : "unknown file";
  logCritical(what + " at " + where + ":" + line.toString() + ":" + column.toString());
  unreachable();
}
