// SPDX-License-Identifier: Apache-2.0
// Chained hashes of KV blocks: a block's hash names its tokens and everything before them.

/*
 * A hash is a whole number below 2^53, so that it is exact in a Float64Array and a plain number in
 * JSON. Two 32-bit lanes are mixed separately; 53 bits make an accidental match among a hundred
 * million blocks less likely than one in a hundred.
 */
const HIGH_BITS = 0x1fffff;
const LOW_RANGE = 0x100000000;

function mix(lane: number, value: number): number {
  let h = Math.imul(lane ^ value, 0x9e3779b1);
  h ^= h >>> 15;
  h = Math.imul(h, 0x85ebca6b);
  return h ^ (h >>> 13);
}

function textLane(text: string, start: number): number {
  let lane = start;
  for (let i = 0; i < text.length; i++) lane = mix(lane, text.charCodeAt(i));
  return lane;
}

function join(high: number, low: number): number {
  const value = (high & HIGH_BITS) * LOW_RANGE + (low >>> 0);
  return value === 0 ? 1 : value; // 0 marks a block without a hash.
}

/** The parent of a prompt's first block: prompts with different salts or adapters share nothing. */
export function hashSeed(cacheSalt = "", adapter = ""): number {
  const text = `${cacheSalt}\u0000${adapter}`;
  return join(textLane(text, 0x51ed270b), textLane(text, 0x2545f491));
}

/** Hash of the block `tokens[start, end)` that follows the block `parent`. */
export function chainHash(
  parent: number,
  tokens: ArrayLike<number>,
  start: number,
  end: number,
): number {
  let low = mix(parent | 0, 0x27d4eb2f);
  let high = mix((parent / LOW_RANGE) | 0, 0x165667b1);
  for (let i = start; i < end; i++) {
    const token = tokens[i] as number;
    low = mix(low, token);
    high = mix(high, token ^ 0x5bd1e995);
  }
  return join(high, low);
}

/** Hashes of all full blocks of `tokens[0, length)`. */
export function blockHashes(
  tokens: ArrayLike<number>,
  length: number,
  blockTokens: number,
  seed: number,
): Float64Array {
  const hashes = new Float64Array(Math.floor(length / blockTokens));
  let parent = seed;
  for (let i = 0; i < hashes.length; i++) {
    parent = chainHash(parent, tokens, i * blockTokens, (i + 1) * blockTokens);
    hashes[i] = parent;
  }
  return hashes;
}
