// SPDX-License-Identifier: Apache-2.0
// The supported matrix: which bootstrap files run on which Envoy releases. Every topic is proven on all of them.
import { ENVOY_VERSION, OLDER_ENVOY_VERSION } from "../../../envoy/find-envoy.ts";

export interface Way {
  bootstrap: string;
  version: string;
}

const VERSIONS = [ENVOY_VERSION, OLDER_ENVOY_VERSION];
const BOOTSTRAPS = ["pin", "pin-buffered", "filter-state", "override-host"];

/** Ways that send a verified follow-up to the very endpoint that served it before. */
export const WAYS: Way[] = BOOTSTRAPS.flatMap((bootstrap) =>
  VERSIONS.map((version) => ({ bootstrap, version })),
);

/** Ways in which the filter itself holds the request until it has decided. */
export const HOLDING_WAYS: Way[] = WAYS.filter(({ bootstrap }) => bootstrap !== "filter-state");

/** Filter state reaches the endpoint as the pin only: the headers have left the filter before the decision. */
export function writesDecisionHeaders(way: Way): boolean {
  return way.bootstrap !== "filter-state";
}

/** The buffer filter sets a content length, and HTTP/1 requests with a length have no trailers. */
export function forwardsTrailers(way: Way): boolean {
  return way.bootstrap === "pin" || way.bootstrap === "override-host";
}

/** Behind a buffer filter the filter never sees a request whose client leaves before its body is complete. */
export function seesEveryRequest(way: Way): boolean {
  return way.bootstrap !== "pin-buffered";
}

/** `override_host` chooses an endpoint whatever its health. */
export function honoursHealth(way: Way): boolean {
  return way.bootstrap !== "override-host";
}

/** Title of a test on one of the ways. */
export function on(way: Way, title: string): string {
  return `${way.bootstrap} on ${way.version}: ${title}`;
}
