// SPDX-License-Identifier: Apache-2.0
// One upstream server as Envoy sees it: address, health, active requests.

export type Health = "healthy" | "degraded" | "unhealthy";

export interface EndpointOptions {
  /** `ip:port` or `[ip6]:port`. */
  address: string;
  health?: Health;
  /** False: connecting fails, whatever health checks believe. */
  reachable?: boolean;
}

export class Endpoint {
  readonly address: string;
  readonly port: number;
  /** Result of active health checks. */
  health: Health;
  /** Outlier detection has ejected it. */
  ejected = false;
  reachable: boolean;
  /** `rq_active`: requests in flight from all workers of this Envoy. */
  active = 0;
  /** Requests that were ever sent to it. */
  total = 0;

  constructor(options: EndpointOptions) {
    this.address = options.address;
    this.port = Number(options.address.slice(options.address.lastIndexOf(":") + 1));
    this.health = options.health ?? "healthy";
    this.reachable = options.reachable ?? true;
  }

  /** Load balancers use it, and a pin to it is obeyed. */
  get usable(): boolean {
    return this.health !== "unhealthy" && !this.ejected;
  }
}
