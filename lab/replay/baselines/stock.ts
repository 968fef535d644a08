// SPDX-License-Identifier: Apache-2.0
// What a stock Envoy offers: its own load balancers, picking as Envoy's do.
import { Cluster, type BalancingPolicy } from "../../virtual-envoy/index.ts";
import type { Gateway, Passage } from "../drivers/virtual/gateway.ts";
import type { Chance } from "../workloads/random.ts";

/** Arm names and the balancer behind each; `session-hash` hashes the session id that clients send. */
export const STOCK_POLICIES: Record<string, BalancingPolicy> = {
  "round-robin": "round_robin",
  "least-request": "least_request_full_scan",
  p2c: "least_request",
  "session-hash": "ring_hash",
};

/** The address of an endpoint of the virtual fleet. */
export function addressOf(endpoint: number): string {
  return `10.0.${endpoint >> 8}.${endpoint & 255}:8000`;
}

/** One stock balancer as a gateway in virtual time. */
export class StockGateway implements Gateway {
  private readonly cluster: Cluster;
  private readonly indexes = new Map<string, number>();

  constructor(policy: BalancingPolicy, endpoints: number, draws: Chance) {
    const addresses = Array.from({ length: endpoints }, (_, index) => addressOf(index));
    addresses.forEach((address, index) => this.indexes.set(address, index));
    this.cluster = new Cluster(
      { endpoints: addresses, policy },
      { next: draws.uniform, below: draws.below },
    );
  }

  place(passage: Passage, _nowMs: number, placed: () => void): void {
    const wish = { pin: undefined, override: undefined, hashKey: passage.session.id };
    const endpoint = this.cluster.choose(wish)!;
    endpoint.active++;
    passage.endpoint = this.indexes.get(endpoint.address)!;
    placed();
  }

  firstToken(): void {}

  ended(passage: Passage): void {
    this.cluster.endpoints[passage.endpoint]!.active--;
  }

  nextMs(): number {
    return Infinity;
  }

  advance(): void {}

  close(): void {}
}
