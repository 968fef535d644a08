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

/** `override_host` chooses an endpoint whatever its health. */
export function honoursHealth(way: Way): boolean {
  return way.bootstrap !== "override-host";
}

/** Title of a test on one of the ways. */
export function on(way: Way, title: string): string {
  return `${way.bootstrap} on ${way.version}: ${title}`;
}
