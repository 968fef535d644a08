// SPDX-License-Identifier: Apache-2.0
// Ctrl-C as a signal that long commands listen to, so that they clean up before they end.
import { Failure } from "./failure.ts";

const INTERRUPTED_EXIT_CODE = 130;

export interface Interruption {
  /** Aborted with a Failure once the user asks to stop. */
  signal: AbortSignal;
  /** Settles then. */
  wait: Promise<void>;
}

export function interruption(): Interruption {
  const controller = new AbortController();
  const wait = new Promise<void>((resolve) => {
    for (const name of ["SIGINT", "SIGTERM"] as const) {
      process.once(name, () => {
        controller.abort(new Failure("stopped", INTERRUPTED_EXIT_CODE));
        resolve();
      });
    }
  });
  return { signal: controller.signal, wait };
}
