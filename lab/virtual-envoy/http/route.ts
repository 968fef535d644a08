// SPDX-License-Identifier: Apache-2.0
// Routes: which cluster a request goes to, with which limits and retries.
import type { HeaderMap } from "./header-map.ts";

export type RetryCondition =
  "connect-failure" | "refused-stream" | "reset-before-request" | "reset" | "5xx";

export interface RetryPolicy {
  on: RetryCondition[];
  attempts: number;
  /** Retry host predicate `previous_hosts`: do not pick an endpoint that failed this request. */
  previousHosts: boolean;
  /** How often the balancer is asked again for another endpoint. */
  hostSelectionAttempts: number;
}

export interface Route {
  name: string;
  pathPrefix: string;
  /** Exact values that request headers must have. */
  headers: Record<string, string>;
  cluster: string;
  /** 0 = none. Counted from the end of the request. */
  timeoutMs: number;
  /** `request_body_buffer_limit`; undefined leaves the connection's limit. */
  bodyLimitBytes: number | undefined;
  /** Header that a ring-hash cluster hashes. */
  hashHeader: string | undefined;
  retry: RetryPolicy;
  /** Answered by Envoy itself with this status. */
  directResponse: number | undefined;
}

/** What examples ship: retries elsewhere when an endpoint cannot be reached. */
export const DEFAULT_RETRY: RetryPolicy = {
  on: ["connect-failure", "refused-stream", "reset-before-request"],
  attempts: 2,
  previousHosts: true,
  hostSelectionAttempts: 5,
};

/** Fills the defaults of a partly given route. */
export function route(partial: Partial<Route> & { cluster: string }): Route {
  return {
    name: "",
    pathPrefix: "/",
    headers: {},
    timeoutMs: 0,
    bodyLimitBytes: undefined,
    hashHeader: undefined,
    retry: DEFAULT_RETRY,
    directResponse: undefined,
    ...partial,
  };
}

/** First route whose path prefix and headers match. */
export function matchRoute(routes: readonly Route[], headers: HeaderMap): Route | undefined {
  const path = headers.get(":path") ?? "";
  return routes.find(
    (candidate) =>
      path.startsWith(candidate.pathPrefix) &&
      Object.entries(candidate.headers).every(([name, value]) => headers.get(name) === value),
  );
}
