// SPDX-License-Identifier: Apache-2.0
// The supported matrix: which bootstrap files run on which Envoy releases. Every topic is proven on all of them.
import { ENVOY_VERSION, OLDER_ENVOY_VERSION } from "../../../envoy/find-envoy.ts";

export interface Way {
  bootstrap: string;
  version: string;
}

/** Ways that send a verified follow-up to the very endpoint that served it before. */
export const WAYS: Way[] = ["pin"].flatMap((bootstrap) =>
  [ENVOY_VERSION, OLDER_ENVOY_VERSION].map((version) => ({ bootstrap, version })),
);

/** Title of a test on one of the ways. */
export function on(way: Way, title: string): string {
  return `${way.bootstrap} on ${way.version}: ${title}`;
}
