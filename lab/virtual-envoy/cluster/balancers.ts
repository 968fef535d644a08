// SPDX-License-Identifier: Apache-2.0
// Envoy's load-balancing policies over a list of eligible endpoints.
import type { Random } from "../random.ts";
import type { Endpoint } from "./endpoint.ts";
import { HashRing, hash64 } from "./hash-ring.ts";

export interface PickInput {
  /** Value that a hash policy hashes; undefined = no hash, so chance decides. */
  hashKey: string | undefined;
}

export interface Balancer {
  /** `endpoints` is never empty. */
  pick(endpoints: readonly Endpoint[], input: PickInput): Endpoint;
}

/** LEAST_REQUEST with FULL_SCAN: fewest active requests, ties by chance. */
export class FullScanBalancer implements Balancer {
  constructor(private readonly random: Random) {}

  pick(endpoints: readonly Endpoint[]): Endpoint {
    let best = endpoints[0]!;
    let tied = 1;
    for (let index = 1; index < endpoints.length; index++) {
      const candidate = endpoints[index]!;
      if (candidate.active > best.active) continue;
      tied = candidate.active < best.active ? 1 : tied + 1;
      if (tied === 1 || this.random.below(tied) === 0) best = candidate;
    }
    return best;
  }
}

/** LEAST_REQUEST with N_CHOICES: the less loaded of `choices` random picks. */
export class ChoicesBalancer implements Balancer {
  constructor(
    private readonly random: Random,
    private readonly choices = 2,
  ) {}

  pick(endpoints: readonly Endpoint[]): Endpoint {
    let best = endpoints[this.random.below(endpoints.length)]!;
    for (let choice = 1; choice < this.choices; choice++) {
      const candidate = endpoints[this.random.below(endpoints.length)]!;
      if (candidate.active < best.active) best = candidate;
    }
    return best;
  }
}

/** ROUND_ROBIN. */
export class RoundRobinBalancer implements Balancer {
  private next: number;

  constructor(random: Random) {
    this.next = random.below(1024);
  }

  pick(endpoints: readonly Endpoint[]): Endpoint {
    this.next += 1;
    return endpoints[this.next % endpoints.length]!;
  }
}

/** RANDOM. */
export class RandomBalancer implements Balancer {
  constructor(private readonly random: Random) {}

  pick(endpoints: readonly Endpoint[]): Endpoint {
    return endpoints[this.random.below(endpoints.length)]!;
  }
}

/** RING_HASH, with bounded load when `hash_balance_factor` is set (percent of the mean). */
export class RingHashBalancer implements Balancer {
  private ring: HashRing | undefined;
  private ringKey = "";

  constructor(
    private readonly random: Random,
    private readonly balanceFactor = 0,
  ) {}

  pick(endpoints: readonly Endpoint[], input: PickInput): Endpoint {
    const { hashKey } = input;
    if (hashKey === undefined) return endpoints[this.random.below(endpoints.length)]!;
    const ring = this.ringOf(endpoints);
    const hash = hash64(hashKey);
    const home = endpoints[ring.lookup(hash)]!;
    if (this.balanceFactor === 0) return home;
    return this.bounded(endpoints, home, ring, hash);
  }

  private bounded(
    endpoints: readonly Endpoint[],
    home: Endpoint,
    ring: HashRing,
    hash: bigint,
  ): Endpoint {
    const active = endpoints.reduce((sum, endpoint) => sum + endpoint.active, 0);
    const mean = (active + 1) / endpoints.length;
    const slots = Math.max(1, Math.ceil((mean * this.balanceFactor) / 100));
    const hasRoom = (endpoint: Endpoint): boolean => endpoint.active < slots;
    if (hasRoom(home)) return home;
    let best = home;
    for (const index of ring.order(hash, endpoints.length)) {
      const candidate = endpoints[index]!;
      if (hasRoom(candidate)) return candidate;
      if (candidate.active < best.active) best = candidate;
    }
    return best;
  }

  private ringOf(endpoints: readonly Endpoint[]): HashRing {
    const key = endpoints.map((endpoint) => endpoint.address).join(",");
    if (this.ring === undefined || key !== this.ringKey) {
      this.ring = new HashRing(endpoints.map((endpoint) => endpoint.address));
      this.ringKey = key;
    }
    return this.ring;
  }
}
