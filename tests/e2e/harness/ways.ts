// SPDX-License-Identifier: Apache-2.0
// The supported matrix: which bootstrap files run on which Envoy releases, and what control planes render of deploy/.
// Every topic is proven on all of them.
import { ENVOY_VERSION, OLDER_ENVOY_VERSION } from "../../../envoy/find-envoy.ts";

export interface Way {
  /** A file of envoy/, or `rendered/` and the name of a rendered case. */
  bootstrap: string;
  version: string;
}

/** How a chain differs from the plain one: wasm, stateful_session, every setting of envoy/pin.yaml. */
interface Chain {
  /** Decisions leave the filter as filter state; headers other than the pin stay behind. */
  filterState?: true;
  /** `override_host` chooses an endpoint whatever its health. */
  overrideHost?: true;
  /** Where a buffer filter waits for the end of the body. */
  buffer?: "before" | "behind";
  /** Control planes leave HTTP/1 trailers off. */
  noTrailers?: true;
  noHealthChecks?: true;
  /** Envoy does not say `100 Continue` by itself, so the body comes when the filter has stopped to wait for it. */
  noContinue?: true;
}

const ISTIO: Chain = { noTrailers: true, noHealthChecks: true, noContinue: true };

const ENVOY_GATEWAY: Chain = { overrideHost: true, noTrailers: true, noHealthChecks: true };

const CHAINS: Record<string, Chain> = {
  pin: {},
  "pin-buffered": { buffer: "before" },
  "filter-state": { filterState: true, buffer: "behind" },
  "override-host": { overrideHost: true },
  "rendered/istio-route": ISTIO,
  "rendered/istio-route-with-session-label": ISTIO,
  "rendered/istio-route-with-wasmplugin": { ...ISTIO, filterState: true, buffer: "behind" },
  "rendered/istio-sidecar": ISTIO,
  "rendered/envoy-gateway-route": ENVOY_GATEWAY,
  "rendered/envoy-gateway-route-buffered": { ...ENVOY_GATEWAY, buffer: "before" },
};

/** The stateless way: where a session's later turns go is a hash, and the first turn has nothing to do with it. */
const HASH_CHAINS: Record<string, Chain> = { hash: {}, "rendered/istio-hash": ISTIO };

function chainOf({ bootstrap }: Way): Chain {
  const chain = CHAINS[bootstrap] ?? HASH_CHAINS[bootstrap];
  if (chain === undefined) throw new Error(`nothing is known of ${bootstrap}`);
  return chain;
}

/** What control planes render is for the Envoy that they ship: the newer release stands for it. */
function waysOf(chains: Record<string, Chain>): Way[] {
  return Object.keys(chains).flatMap((bootstrap) => [
    { bootstrap, version: ENVOY_VERSION },
    ...(isRendered(bootstrap) ? [] : [{ bootstrap, version: OLDER_ENVOY_VERSION }]),
  ]);
}

/** Whether a control plane has made this bootstrap. */
export function isRendered(bootstrap: string): boolean {
  return bootstrap.startsWith("rendered/");
}

/** Ways that send a verified follow-up to the very endpoint that served it before. */
export const WAYS: Way[] = waysOf(CHAINS);

/** Ways that send later turns of a session to one endpoint, whatever served the first. */
export const HASH_WAYS: Way[] = waysOf(HASH_CHAINS);

/** Ways that route: what holds of a request and its answer holds on all of them. */
export const ROUTING_WAYS: Way[] = [...WAYS, ...HASH_WAYS];

/** Ways in which the filter itself holds the request until it has decided. */
export const HOLDING_WAYS: Way[] = ROUTING_WAYS.filter(
  (way) => chainOf(way).filterState === undefined,
);

/** Filter state reaches the endpoint as the pin only: the headers have left the filter before the decision. */
export function writesDecisionHeaders(way: Way): boolean {
  return chainOf(way).filterState === undefined;
}

/** The buffer filter sets a content length, and HTTP/1 requests with a length have no trailers. */
export function forwardsTrailers(way: Way): boolean {
  const { buffer, noTrailers } = chainOf(way);
  return buffer === undefined && noTrailers === undefined;
}

/** Behind a buffer filter the filter never sees a request whose client leaves before its body is complete. */
export function seesEveryRequest(way: Way): boolean {
  return chainOf(way).buffer !== "before";
}

/** Without active checks only a connection that fails tells of a sick endpoint. */
export function checksHealth(way: Way): boolean {
  return chainOf(way).noHealthChecks === undefined;
}

/** `override_host` chooses an endpoint whatever its health. */
export function honoursHealth(way: Way): boolean {
  return chainOf(way).overrideHost === undefined;
}

/** A client that waits for `100 Continue` gets it while its request is held. */
export function answersExpect(way: Way): boolean {
  return chainOf(way).noContinue === undefined;
}

/** Title of a test on one of the ways. */
export function on(way: Way, title: string): string {
  return `${way.bootstrap} on ${way.version}: ${title}`;
}
