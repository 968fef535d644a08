// SPDX-License-Identifier: Apache-2.0
// Rules about limits and timeouts that are too small for prompts and generations.
import type { Chain } from "./chain.ts";
import { holdsHeaders } from "./filter-rules.ts";
import { type Finding, warning } from "./finding.ts";
import { at, durationMsAt, isType, numberAt, textAt } from "./node.ts";

const MIB = 1 << 20;

/** Envoy's defaults. */
const DEFAULT_CONNECTION_BUFFER_BYTES = MIB;
const DEFAULT_HTTP2_WINDOW_BYTES = 16 * MIB;
export const DEFAULT_ROUTE_TIMEOUT_MS = 15_000;

/** A route that gives a generation less than this cuts real answers. */
const SHORT_TIMEOUT_MS = 120_000;

/** Whether a timeout cuts real answers; 0 switches it off. */
export function isShort(timeoutMs: number): boolean {
  return timeoutMs !== 0 && timeoutMs < SHORT_TIMEOUT_MS;
}

/** What is said of a limit that is. */
export function cutsShort(name: string, timeoutMs: number): string {
  return `${name} is ${timeoutMs / 1000} s and cuts longer generations`;
}

/** A buffer filter in front of ours raises the limits by itself. */
function hasBufferInFront({ filters, position }: Chain): boolean {
  return filters.slice(0, position).some((filter) => isType(filter["typed_config"], "Buffer"));
}

function checkBodyLimits(chain: Chain): Finding[] {
  const { options, listener, manager, where, routes } = chain;
  if (!holdsHeaders(options) || hasBufferInFront(chain)) return [];
  const cap = options.holdCapBytes;
  if (Number.isNaN(cap)) return [];
  const findings: Finding[] = [];
  const complain = (place: string, name: string, bytes: number): void => {
    if (bytes >= cap) return;
    const message = `${name} is ${bytes} bytes, less than hold_cap_bytes (${cap}): longer bodies are released before their end`;
    findings.push(warning(place, message));
  };
  const connection = numberAt(listener, "per_connection_buffer_limit_bytes");
  complain(
    where,
    "per_connection_buffer_limit_bytes",
    connection ?? DEFAULT_CONNECTION_BUFFER_BYTES,
  );
  const window = numberAt(manager, "http2_protocol_options.initial_stream_window_size");
  complain(where, "http2 initial_stream_window_size", window ?? DEFAULT_HTTP2_WINDOW_BYTES);
  for (const { where: place, host, route } of routes) {
    const held =
      numberAt(route, "request_body_buffer_limit") ?? numberAt(host, "request_body_buffer_limit");
    if (held !== undefined) complain(place, "request_body_buffer_limit", held);
  }
  return findings;
}

function checkRouteTimeouts({ routes }: Chain): Finding[] {
  return routes.flatMap(({ where, route }) => {
    if (at(route, "route") === undefined) return [];
    const timeout = durationMsAt(route, "route.timeout") ?? DEFAULT_ROUTE_TIMEOUT_MS;
    if (!isShort(timeout)) return [];
    return [warning(where, `${cutsShort("timeout", timeout)}; 0s switches it off`)];
  });
}

function checkIdleTimeout({ manager, where }: Chain): Finding[] {
  if (textAt(manager, "stream_idle_timeout") !== "") return [];
  const message =
    "stream_idle_timeout is not set: after five minutes without a byte a long prefill is cut";
  return [warning(where, message)];
}

/** All rules about limits and timeouts. */
export function checkLimits(chain: Chain): Finding[] {
  return [checkBodyLimits, checkRouteTimeouts, checkIdleTimeout].flatMap((rule) => rule(chain));
}
