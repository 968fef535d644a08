// SPDX-License-Identifier: Apache-2.0
// Consistent hashing as in Envoy's ring_hash: many points per endpoint on a ring. The hash function is FNV-1a with a
// finaliser where Envoy has xxHash, so single placements differ; spread and stability are the same.

const MIN_RING_SIZE = 1024;
const MASK = (1n << 64n) - 1n;

/** 64-bit hash of a string. */
export function hash64(text: string): bigint {
  let hash = 0xcbf29ce484222325n;
  for (let index = 0; index < text.length; index++) {
    hash = ((hash ^ BigInt(text.charCodeAt(index))) * 0x100000001b3n) & MASK;
  }
  hash ^= hash >> 33n;
  hash = (hash * 0xff51afd7ed558ccdn) & MASK;
  return hash ^ (hash >> 33n);
}

interface Point {
  hash: bigint;
  index: number;
}

export class HashRing {
  private readonly points: Point[];

  constructor(names: readonly string[]) {
    const perName = Math.ceil(MIN_RING_SIZE / names.length);
    this.points = names.flatMap((name, index) =>
      Array.from({ length: perName }, (_, copy) => ({ hash: hash64(`${name}_${copy}`), index })),
    );
    this.points.sort((a, b) => (a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : 0));
  }

  /** Index of the name that owns `hash`. */
  lookup(hash: bigint): number {
    return this.points[this.position(hash)]!.index;
  }

  /** All names in ring order from `hash` on, each once. */
  order(hash: bigint, count: number): number[] {
    const seen = new Set<number>();
    const start = this.position(hash);
    for (let step = 0; step < this.points.length && seen.size < count; step++) {
      seen.add(this.points[(start + step) % this.points.length]!.index);
    }
    return [...seen];
  }

  private position(hash: bigint): number {
    let low = 0;
    let high = this.points.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.points[middle]!.hash < hash) low = middle + 1;
      else high = middle;
    }
    return low % this.points.length;
  }
}
