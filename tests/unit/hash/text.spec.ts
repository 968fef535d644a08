// SPDX-License-Identifier: Apache-2.0
// The text hash: vector code equals its scalar oracle, and near-identical texts do not collide.
import {
  absorbBlock,
  absorbBlockScalar,
  BLOCK_BYTES,
  emptyBlocks,
  finishBlocks,
} from "../../../assembly/hash/block";
import { fold, member } from "../../../assembly/hash/mix";
import { hashText } from "../../../assembly/hash/text";

const BUFFER = new StaticArray<u8>(2048 + 64);
const TEXT: usize = changetype<usize>(BUFFER);

function fillText(bytes: i32): void {
  for (let i = 0; i < bytes; i++) store<u8>(TEXT + i, <u8>(0x61 + ((i * 7 + (i >> 5)) % 26)));
}

/** Sorts hashes and counts equal neighbours, in all 64 bits and in one half. */
function collisions(hashes: StaticArray<u64>, shift: i32): i32 {
  const copy = new StaticArray<u64>(hashes.length);
  for (let i = 0; i < hashes.length; i++)
    copy[i] = shift < 0 ? hashes[i] : (hashes[i] >> shift) & 0xffffffff;
  copy.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  let count = 0;
  for (let i = 1; i < copy.length; i++) count += copy[i] == copy[i - 1] ? 1 : 0;
  return count;
}

describe("a block", () => {
  it("is absorbed as the scalar oracle says", () => {
    fillText(1024);
    let state = emptyBlocks();
    const oracle = new StaticArray<u64>(2);
    oracle[0] = i64x2.extract_lane(state, 0);
    oracle[1] = i64x2.extract_lane(state, 1);
    for (let at = 0; at < 1024; at += BLOCK_BYTES) {
      const p = TEXT + at;
      state = absorbBlock(
        state,
        v128.load(p),
        v128.load(p, 16),
        v128.load(p, 32),
        v128.load(p, 48),
      );
      absorbBlockScalar(oracle, p);
      expect(i64x2.extract_lane(state, 0)).toBe(oracle[0]);
      expect(i64x2.extract_lane(state, 1)).toBe(oracle[1]);
    }
    expect(finishBlocks(state, 1024)).toBe(hashText(TEXT, 1024));
  });
});

describe("near-identical texts", () => {
  it("do not collide when two bytes change, at every length class", () => {
    const lengths: i32[] = [7, 11, 14, 15, 16, 40, 63, 64, 65, 200];
    for (let l = 0; l < lengths.length; l++) {
      const length = lengths[l];
      const places = min(length, 16);
      const hashes = new StaticArray<u64>(((places * (places - 1)) / 2) * 25 * 25);
      let count = 0;
      fillText(length);
      // The last bytes: a text of up to 15 bytes is its last 15, a longer one ends in a partial block.
      const base = length - places;
      for (let i = 0; i < places; i++) {
        for (let j = 0; j < i; j++) {
          const first = load<u8>(TEXT + base + i);
          const second = load<u8>(TEXT + base + j);
          for (let a = 1; a < 26; a++) {
            for (let b = 1; b < 26; b++) {
              store<u8>(TEXT + base + i, first ^ (<u8>a));
              store<u8>(TEXT + base + j, second ^ (<u8>b));
              hashes[count++] = hashText(TEXT, length);
            }
          }
          store<u8>(TEXT + base + i, first);
          store<u8>(TEXT + base + j, second);
        }
      }
      expect(collisions(hashes, -1)).toBe(0, "64 bits at " + length.toString());
      // 75,000 random halves have 0.65 collisions on average.
      expect(collisions(hashes, 0) < 8).toBe(true, "low half at " + length.toString());
      expect(collisions(hashes, 32) < 8).toBe(true, "high half at " + length.toString());
    }
  });

  it("do not collide when they count", () => {
    const hashes = new StaticArray<u64>(100_000);
    fillText(80);
    for (let i = 0; i < hashes.length; i++) {
      let rest = i;
      for (let digit = 0; digit < 6; digit++) {
        store<u8>(TEXT + 70 - digit, <u8>(0x30 + (rest % 10)));
        rest /= 10;
      }
      hashes[i] = hashText(TEXT, 80);
    }
    expect(collisions(hashes, -1)).toBe(0);
    expect(collisions(hashes, 0) < 12).toBe(true);
    expect(collisions(hashes, 32) < 12).toBe(true);
  });

  it("do not collide when blocks or words change places", () => {
    const hashes = new StaticArray<u64>(2 * 120);
    let count = 0;
    for (let unit = 16; unit <= 64; unit += 48) {
      for (let order = 0; order < 120; order++) {
        let rest = order;
        let used = 0;
        for (let place = 0; place < 5; place++) {
          let pick = rest % (5 - place);
          rest /= 5 - place;
          let symbol = 0;
          while (((used >> symbol) & 1) != 0 || pick-- > 0) symbol++;
          used |= 1 << symbol;
          memory.fill(TEXT + place * unit, <u8>(0x61 + symbol), unit);
        }
        hashes[count++] = hashText(TEXT, 5 * unit);
      }
    }
    expect(collisions(hashes, -1)).toBe(0);
  });

  it("do not collide when bytes of different blocks change", () => {
    const blocks = 32;
    const length = blocks * BLOCK_BYTES;
    const hashes = new StaticArray<u64>(((blocks * (blocks - 1)) / 2) * 12 * 12);
    let count = 0;
    fillText(length);
    for (let i = 0; i < blocks; i++) {
      for (let j = 0; j < i; j++) {
        // The same place in both, so that what the one adds the other could take away.
        const place = (i * 5 + j * 11) % BLOCK_BYTES;
        const first = TEXT + i * BLOCK_BYTES + place;
        const second = TEXT + j * BLOCK_BYTES + place;
        for (let a = 1; a <= 12; a++) {
          for (let b = 1; b <= 12; b++) {
            store<u8>(first, load<u8>(first) + <u8>a);
            store<u8>(second, load<u8>(second) - <u8>b);
            hashes[count++] = hashText(TEXT, length);
            store<u8>(first, load<u8>(first) - <u8>a);
            store<u8>(second, load<u8>(second) + <u8>b);
          }
        }
      }
    }
    expect(collisions(hashes, -1)).toBe(0);
    // 71,424 random halves have 0.6 collisions on average.
    expect(collisions(hashes, 0) < 8).toBe(true);
    expect(collisions(hashes, 32) < 8).toBe(true);
  });

  it("flip about half of the bits", () => {
    const lengths: i32[] = [4, 12, 15, 16, 64, 100, 1000];
    for (let l = 0; l < lengths.length; l++) {
      fillText(lengths[l]);
      const before = hashText(TEXT, lengths[l]);
      let flipped = 0;
      const tries = lengths[l] * 5;
      for (let i = 0; i < tries; i++) {
        const p = TEXT + i / 5;
        const byte = load<u8>(p);
        store<u8>(p, <u8>((<i32>byte) ^ (1 << (i % 5))));
        flipped += <i32>popcnt(hashText(TEXT, lengths[l]) ^ before);
        store<u8>(p, byte);
      }
      const share = <f64>flipped / <f64>tries / 64;
      expect(share > 0.45 && share < 0.55).toBe(true, lengths[l].toString());
    }
  });
});

describe("rows and members", () => {
  it("keep order in a row and ignore it in a sum", () => {
    expect(fold(fold(1, 2), 3)).not.toBe(fold(fold(1, 3), 2));
    expect(member(1, 2)).not.toBe(member(2, 1));
    expect(member(1, 2) + member(3, 4)).not.toBe(member(1, 4) + member(3, 2));
  });
});
