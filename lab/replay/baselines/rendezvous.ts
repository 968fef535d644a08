// SPDX-License-Identifier: Apache-2.0
// Rendezvous hashing: every key has its own fixed order of endpoints.
import { createHash } from "node:crypto";

const orders = new Map<string, number[]>();
const MOST_REMEMBERED = 1 << 16;

function weight(key: string, endpoint: number): number {
  return createHash("md5").update(`${key}/${endpoint}`).digest().readUInt32LE(0);
}

/** All endpoints, the key's favourite first. */
export function rendezvous(key: string, endpoints: number): number[] {
  const name = `${endpoints}/${key}`;
  let order = orders.get(name);
  if (order === undefined) {
    const weights = Array.from({ length: endpoints }, (_, index) => weight(key, index));
    order = weights.map((_, index) => index).sort((a, b) => weights[b]! - weights[a]!);
    if (orders.size >= MOST_REMEMBERED) orders.clear();
    orders.set(name, order);
  }
  return order;
}
