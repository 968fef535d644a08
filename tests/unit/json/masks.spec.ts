// SPDX-License-Identifier: Apache-2.0
// The vector masks equal their scalar oracle on blocks of the bytes that matter.
import {
  allPrintable,
  anyControl,
  anyWide,
  backslashesOf,
  backslashMask,
  controlMask,
  escapedMask,
  oddOf,
  plainLetterMask,
  printableOf,
  quoteMask,
  quotesOf,
  ScalarMasks,
  sumOf,
  wideFirstMask,
  wideMask,
} from "../../../assembly/json/masks";

const BLOCK = new StaticArray<u8>(64);
const BYTES: u8[] = [
  0x5c, 0x5c, 0x5c, 0x22, 0x6e, 0x75, 0x72, 0x62, 0x66, 0x74, 0x2f, 0x61, 0x20, 0x1f, 0x00, 0x80,
  0xbf, 0xc0, 0xff, 0x7f,
];

describe("masks", () => {
  it("equal the scalar oracle", () => {
    const p = changetype<usize>(BLOCK);
    const oracle = new ScalarMasks();
    let random: u64 = 42;
    for (let round = 0; round < 300; round++) {
      const kinds: u64 = <u64>(1 + (round % BYTES.length));
      for (let i = 0; i < 64; i++) {
        random = random * 6364136223846793005 + 1442695040888963407;
        store<u8>(p + i, BYTES[<i32>((random >> 33) % kinds)]);
      }
      const a = v128.load(p);
      const b = v128.load(p, 16);
      const c = v128.load(p, 32);
      const d = v128.load(p, 48);
      const escapedBefore = (round & 1) == 1;
      oracle.read(p, escapedBefore);
      expect(quoteMask(a, b, c, d)).toBe(oracle.quote);
      const backslashes = backslashMask(a, b, c, d);
      expect(backslashes).toBe(oracle.backslash);
      expect(controlMask(a, b, c, d)).toBe(oracle.control);
      expect(wideMask(a, b, c, d)).toBe(oracle.wide);
      expect(wideFirstMask(a, b, c, d)).toBe(oracle.wideFirst);
      expect(anyWide(a, b, c, d)).toBe(oracle.wide != 0);
      expect(anyControl(a, b, c, d)).toBe(oracle.control != 0);
      expect(allPrintable(a, b, c, d)).toBe((oracle.wide | oracle.control) == 0);
      expect(plainLetterMask(a, b, c, d)).toBe(oracle.plain);
      expect(escapedMask(backslashes, escapedBefore ? 1 : 0)).toBe(oracle.escaped);
    }
  });

  it("tell what needs a closer look behind single backslashes", () => {
    const p = changetype<usize>(BLOCK);
    const letters: u8[] = [0x6e, 0x22, 0x74, 0x75, 0x2f, 0x61, 0x5c];
    for (let place = 1; place < 16; place++) {
      for (let i = 0; i < letters.length; i++) {
        memory.fill(p, 0x61, 64);
        store<u8>(p + place - 1, 0x5c);
        store<u8>(p + place, letters[i]);
        const bytes = v128.load(p);
        const before = new StaticArray<u8>(16);
        for (let b = 1; b < 16; b++) if (load<u8>(p + b - 1) == 0x5c) before[b] = 0xff;
        const odd = oddOf(bytes, v128.load(changetype<usize>(before)), quotesOf(bytes));
        const isCommon = letters[i] == 0x6e || letters[i] == 0x22;
        expect((i8x16.bitmask(odd) >> place) & 1).toBe(isCommon ? 0 : 1, letters[i].toString());
      }
    }
  });

  it("find quotes that are not escaped, and add up lanes", () => {
    const p = changetype<usize>(BLOCK);
    memory.fill(p, 0x61, 64);
    store<u8>(p + 5, 0x22);
    store<u8>(p + 9, 0x5c);
    const bytes = v128.load(p);
    expect(i8x16.bitmask(oddOf(bytes, i8x16.splat(0), quotesOf(bytes)))).toBe(1 << 5);
    expect(i8x16.bitmask(backslashesOf(bytes))).toBe(1 << 9);
    expect(i8x16.bitmask(printableOf(bytes, bytes, bytes, bytes))).toBe(0xffff);
    expect(sumOf(i8x16.splat(-1))).toBe(16 * 255);
    expect(sumOf(i8x16(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))).toBe(136);
  });
});
