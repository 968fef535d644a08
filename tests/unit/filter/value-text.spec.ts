// SPDX-License-Identifier: Apache-2.0
// Header values as text: numbers of any size, and the bytes of an address.
import {
  VALUE,
  writeBase64,
  writeDecimal,
  writeHex,
  writeSigned,
} from "../../../assembly/filter/value-text";

function written(size: u32): string {
  return String.UTF8.decodeUnsafe(VALUE, size);
}

function base64(text: string): string {
  const bytes = String.UTF8.encode(text);
  return written(writeBase64(changetype<usize>(bytes), bytes.byteLength));
}

describe("value text", () => {
  it("writes numbers in decimal", () => {
    const numbers: u64[] = [0, 9, 10, 999_999_999, 4_294_967_295, 4_294_967_296, u64.MAX_VALUE];
    for (let i = 0; i < numbers.length; i++) {
      expect(written(writeDecimal(numbers[i]))).toBe(numbers[i].toString());
    }
    expect(written(writeSigned(-207))).toBe("-207");
  });

  it("writes 64 bits as 16 hexadecimal digits", () => {
    expect(written(writeHex(0x0123_4567_89ab_cdef))).toBe("0123456789abcdef");
    expect(written(writeHex(0xfedc_ba98_7654_3210))).toBe("fedcba9876543210");
    expect(written(writeHex(0xf))).toBe("000000000000000f");
  });

  it("writes an address as base64 with padding", () => {
    expect(base64("10.0.0.1:80")).toBe("MTAuMC4wLjE6ODA=");
    expect(base64("10.0.0.1:8000")).toBe("MTAuMC4wLjE6ODAwMA==");
    expect(base64("10.0.0.10:8000?>~")).toBe("MTAuMC4wLjEwOjgwMDA/Pn4=");
    expect(base64("")).toBe("");
  });
});
