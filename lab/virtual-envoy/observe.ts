// SPDX-License-Identifier: Apache-2.0
// Turns the state of a stream into plain data that tests compare.
import type { Observation } from "./http/observation.ts";
import type { Stream } from "./http/stream.ts";

export function observe(stream: Stream): Observation {
  const { info, response, upstream } = stream;
  const filterState: Record<string, string> = {};
  for (const [key, value] of info.filterState) {
    filterState[key] = Buffer.from(value).toString("latin1");
  }
  const reached = upstream?.endpoint.reachable ? upstream : undefined;
  return {
    ending: stream.ending,
    status: response.status,
    responseHeaders: response.headers?.toObject() ?? {},
    responseBody: response.body().toString("utf8"),
    endpoint: info.endpoint?.address,
    attempts: info.attempts,
    details: info.details,
    flags: info.flags,
    upstreamHeaders: reached?.headers.toObject(),
    upstreamTrailers: reached?.trailers?.toObject(),
    upstreamBodyBytes: reached?.bodyBytes ?? 0,
    bodySha: reached?.bodySha(),
    callbacks: stream.callbacks,
    filterState,
  };
}
