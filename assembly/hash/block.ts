// SPDX-License-Identifier: Apache-2.0
// Hash of 64-byte blocks, in vector registers and as a scalar oracle that says the same in plain words.
import { mix } from "./mix";

export const BLOCK_BYTES: i32 = 64;

/** The state before the first block. */
// @ts-ignore: decorator
@inline
export function emptyBlocks(): v128 {
  return i64x2(0x243f6a8885a308d3, 0x13198a2e03707344);
}

/** Sixteen key words: four vectors. */
const KEYS: usize = memory.data<u32>(
  [
    0xb8fe6c39, 0x23a44bbe, 0x7c01812c, 0xf721ad1c, 0xded46de9, 0x839097db, 0x7240a4a4, 0xb7b3671f,
    0xcb79e64e, 0xccc0e578, 0x825ad07d, 0xccff7221, 0xb8084674, 0xf743248e, 0xe03590e6, 0x813a264c,
  ],
  16,
);
/** How far a lane is folded into itself, and by how many bits the state turns, from block to block. */
const FOLD_BITS: i32 = 23;
const TURN_BITS: u64 = 40;

/**
 * Absorbs one block. NH (a sum of 32x32-bit products of keyed words: two vectors make one set of products), plus
 * the words themselves, so that a product with a zero factor does not swallow its other factor. 27 vector
 * operations, and those are what a scan is bound by. The keys are loaded, not constants: V8 builds a constant anew
 * in every turn of a loop.
 */
// @ts-ignore: decorator
@inline
export function absorbBlock(state: v128, a: v128, b: v128, c: v128, d: v128): v128 {
  const ka = i32x4.add(a, v128.load(KEYS));
  const kb = i32x4.add(b, v128.load(KEYS, 16));
  const kc = i32x4.add(c, v128.load(KEYS, 32));
  const kd = i32x4.add(d, v128.load(KEYS, 48));
  const products = i64x2.add(
    i64x2.add(i64x2.extmul_low_i32x4_u(ka, kb), i64x2.extmul_high_i32x4_u(ka, kb)),
    i64x2.add(i64x2.extmul_low_i32x4_u(kc, kd), i64x2.extmul_high_i32x4_u(kc, kd)),
  );
  const even = i64x2.add(a, c);
  const odd = i64x2.add(b, d);
  const words = i64x2.add(even, i64x2.shuffle(odd, odd, 1, 0));
  return i64x2.add(turn(state), i64x2.add(products, words));
}

/**
 * The step from block to block: a bijection of both lanes together. The products do the mixing; all that is missing
 * is that the order of blocks counts, for which a fold and a rotation by bytes do, at a quarter of a multiplication.
 */
// @ts-ignore: decorator
@inline
function turn(state: v128): v128 {
  const folded = v128.xor(state, i64x2.shr_u(state, FOLD_BITS));
  return i8x16.shuffle(folded, folded, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4);
}

/** The hash of everything absorbed. `bytes` is the length of the text, which tells apart a padded last block. */
// @ts-ignore: decorator
@inline
export function finishBlocks(state: v128, bytes: u32): u64 {
  const first = mix(i64x2.extract_lane(state, 0) + <u64>bytes * 0x9e3779b97f4a7c15);
  return mix(first ^ i64x2.extract_lane(state, 1));
}

/** The scalar oracle of `absorbBlock`: `state` holds two lanes, `block` is an address of 64 bytes. */
export function absorbBlockScalar(state: StaticArray<u64>, block: usize): void {
  turnScalar(state);
  for (let lane = 0; lane < 2; lane++) {
    let sum: u64 = 0;
    for (let half = 0; half < 2; half++) {
      const base = block + half * 32;
      // extmul_low multiplies words 0 and 1, extmul_high words 2 and 3: lane 0 gets the even ones.
      for (let word = lane; word < 4; word += 2) {
        const x = load<u32>(base + word * 4) + load<u32>(KEYS + (half * 8 + word) * 4);
        const y = load<u32>(base + 16 + word * 4) + load<u32>(KEYS + (half * 8 + 4 + word) * 4);
        sum += <u64>x * <u64>y;
      }
      sum += load<u64>(base + lane * 8);
      sum += load<u64>(base + 16 + (1 - lane) * 8);
    }
    state[lane] += sum;
  }
}

function turnScalar(state: StaticArray<u64>): void {
  const low = state[0] ^ (state[0] >> FOLD_BITS);
  const high = state[1] ^ (state[1] >> FOLD_BITS);
  state[0] = (low >> TURN_BITS) | (high << (64 - TURN_BITS));
  state[1] = (high >> TURN_BITS) | (low << (64 - TURN_BITS));
}
