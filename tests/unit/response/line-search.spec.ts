// SPDX-License-Identifier: Apache-2.0
// The vector searches against their scalar oracles.
import {
  lineEnd,
  lineEndScalar,
  mayConclude,
  mayConcludeScalar,
} from "../../../assembly/response/line-search";

const PIECES: StaticArray<string> = [
  '"usage":{',
  '"usage" : {',
  '"usage":null',
  'usage\\":{',
  '"finish_reason":"stop"',
  '"finish_reason":null',
  '"stop_reason"\t:\t"x"',
  '_reason\\":\\"',
  '"name":"',
  'e"n"e"',
  "plain text of some length ",
  "é",
  "\n",
  "\r\n",
];

/** Rows of pieces, by a linear congruential sequence. */
function randomText(seed: u32): string {
  let text = "";
  for (let i: u32 = 0; i < 1 + (seed % 9); i++) {
    seed = seed * 1664525 + 1013904223;
    text += PIECES[<i32>((seed >> 16) % <u32>PIECES.length)];
  }
  return text;
}

function holds(text: string): bool {
  const bytes = String.UTF8.encode(text);
  const start = changetype<usize>(bytes);
  return mayConclude(start, start + <usize>bytes.byteLength);
}

describe("the searches of an event stream", () => {
  it("agree with their oracles", () => {
    for (let seed: u32 = 0; seed < 600; seed++) {
      const bytes = String.UTF8.encode(randomText(seed));
      const start = changetype<usize>(bytes);
      const end = start + <usize>bytes.byteLength;
      expect(lineEnd(start, end)).toBe(lineEndScalar(start, end));
      expect(mayConclude(start, end)).toBe(mayConcludeScalar(start, start, end));
    }
  });

  it("find the keys that tell an end, wherever they stand", () => {
    for (let before = 0; before < 40; before++) {
      const indent = " ".repeat(before);
      expect(holds(indent + '"usage":{}')).toBe(true);
      expect(holds(indent + '"stop_reason":"x"' + indent)).toBe(true);
      expect(holds(indent + '"usage":null,"finish_reason":null' + indent)).toBe(false);
      expect(holds(indent + '\\"usage\\":{}' + indent)).toBe(false);
    }
  });

  it("look at no byte outside", () => {
    expect(holds("")).toBe(false);
    expect(holds('e"')).toBe(false);
    expect(holds('usage":')).toBe(false);
  });
});
