// SPDX-License-Identifier: Apache-2.0
// Lines for Envoy's log (its `wasm` logger). Never called once per request: a log flood is an outage of its own.
import { proxy_log } from "@solo-io/proxy-runtime/assembly/imports";

/** Log levels of the proxy-wasm ABI. */
const enum Level {
  Warn = 3,
  Error = 4,
  Critical = 5,
}

function write(level: Level, message: string): void {
  const bytes = String.UTF8.encode(message);
  proxy_log(level, changetype<usize>(bytes), bytes.byteLength);
}

export function logWarn(message: string): void {
  write(Level.Warn, message);
}

export function logError(message: string): void {
  write(Level.Error, message);
}

export function logCritical(message: string): void {
  write(Level.Critical, message);
}
