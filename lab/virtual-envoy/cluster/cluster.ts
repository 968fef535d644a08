// SPDX-License-Identifier: Apache-2.0
// One cluster: its endpoints, its balancing policy, and the ways a request can name an endpoint.
import type { Random } from "../random.ts";
import {
  ChoicesBalancer,
  FullScanBalancer,
  RandomBalancer,
  RingHashBalancer,
  RoundRobinBalancer,
  type Balancer,
  type PickInput,
} from "./balancers.ts";
import { Endpoint, type EndpointOptions } from "./endpoint.ts";

export type BalancingPolicy =
  "least_request_full_scan" | "least_request" | "round_robin" | "random" | "ring_hash";

export interface ClusterOptions {
  name?: string;
  endpoints: (string | EndpointOptions)[];
  policy?: BalancingPolicy;
  /** Bounded load of ring_hash in percent of the mean; 0 = off. */
  hashBalanceFactor?: number;
  /** LB policy override_host: the request header that lists `ip:port` candidates. */
  overrideHostHeader?: string;
  /** Below this share of usable endpoints Envoy balances over all of them. */
  panicThresholdPercent?: number;
}

const DEFAULT_PANIC_PERCENT = 50;

function balancerOf(options: ClusterOptions, random: Random): Balancer {
  switch (options.policy ?? "least_request_full_scan") {
    case "least_request_full_scan":
      return new FullScanBalancer(random);
    case "least_request":
      return new ChoicesBalancer(random);
    case "round_robin":
      return new RoundRobinBalancer(random);
    case "random":
      return new RandomBalancer(random);
    case "ring_hash":
      return new RingHashBalancer(random, options.hashBalanceFactor ?? 0);
  }
}

/** What a request says about where it wants to go. */
export interface Wish extends PickInput {
  /** Pin of stateful_session; only asked on the first attempt, and only if the endpoint is usable. */
  pin: string | undefined;
  /** Next candidate of override_host; obeyed whatever its health. */
  override: string | undefined;
}

export class Cluster {
  readonly name: string;
  readonly overrideHostHeader: string | undefined;
  private readonly list: Endpoint[] = [];
  private readonly balancer: Balancer;
  private readonly panicPercent: number;

  constructor(options: ClusterOptions, random: Random) {
    this.name = options.name ?? "llm";
    this.overrideHostHeader = options.overrideHostHeader;
    this.balancer = balancerOf(options, random);
    this.panicPercent = options.panicThresholdPercent ?? DEFAULT_PANIC_PERCENT;
    for (const endpoint of options.endpoints) this.add(endpoint);
  }

  get endpoints(): readonly Endpoint[] {
    return this.list;
  }

  /** @throws Error when no endpoint has this address */
  endpoint(address: string): Endpoint {
    const found = this.find(address);
    if (found === undefined) throw new Error(`cluster ${this.name} has no endpoint ${address}`);
    return found;
  }

  add(options: string | EndpointOptions): Endpoint {
    const endpoint = new Endpoint(typeof options === "string" ? { address: options } : options);
    this.list.push(endpoint);
    return endpoint;
  }

  remove(address: string): void {
    const index = this.list.findIndex((endpoint) => endpoint.address === address);
    if (index >= 0) this.list.splice(index, 1);
  }

  /** The endpoint for one attempt, or undefined when there is none. */
  choose(wish: Wish): Endpoint | undefined {
    if (wish.pin !== undefined) {
      const pinned = this.find(wish.pin);
      if (pinned?.usable) return pinned;
    }
    if (wish.override !== undefined) {
      const overridden = this.find(wish.override);
      if (overridden !== undefined) return overridden;
    }
    const eligible = this.eligible();
    return eligible.length === 0 ? undefined : this.balancer.pick(eligible, wish);
  }

  has(address: string): boolean {
    return this.find(address) !== undefined;
  }

  private eligible(): readonly Endpoint[] {
    const usable = this.list.filter((endpoint) => endpoint.usable);
    const panic = usable.length * 100 < this.list.length * this.panicPercent;
    return panic ? this.list : usable;
  }

  private find(address: string): Endpoint | undefined {
    return this.list.find((endpoint) => endpoint.address === address);
  }
}
