// SPDX-License-Identifier: Apache-2.0
// Conformance to RFC 8259 in the manner of the well-known suites: what must pass, what must not, what may.
import { Progress } from "../../../assembly/json/progress";
import { Scanner } from "../../../assembly/json/scanner";
import { bytesOf } from "../window";
import { Recorder, scanBytes } from "./recorder";

const scanner = new Scanner<Recorder>(new Recorder());

function progressOf(text: string, chunk: i32): Progress {
  return scanBytes(scanner, bytesOf(text), chunk);
}

function expectAll(documents: string[], expected: Progress): void {
  for (let i = 0; i < documents.length; i++) {
    expect(progressOf(documents[i], 0)).toBe(expected, documents[i]);
    expect(progressOf(documents[i], 1)).toBe(expected, documents[i] + " byte by byte");
  }
}

const VALID: string[] = [
  "[]",
  "{}",
  '""',
  '"a"',
  "null",
  "true",
  "false",
  "0",
  "-0",
  "42",
  " [ ] ",
  "[[]]",
  "[{}]",
  '[null,1,"1",{}]',
  '{"a":[]}',
  '{"":0}',
  '{"a":"b","a":"c"}',
  '{"\\u0000":1}',
  "[1\n]",
  "\t[\r\n1 ]",
  "[123e65]",
  "[0e+1]",
  "[0e1]",
  "[1E22]",
  "[1E-2]",
  "[1E+2]",
  "[123e45]",
  "[123.456e78]",
  "[1e-2]",
  "[-0.000000000000000000000000000000000000000000000000000000000000000000000000000001]",
  "[-123]",
  "[-1]",
  "[123.456789]",
  '["\\u0060\\u012a\\u12AB"]',
  '["\\ud801\\udc37"]',
  '["\\"\\\\\\/\\b\\f\\n\\r\\t"]',
  '["\\\\u0000"]',
  '["\\\\a"]',
  '["\\\\n"]',
  '["a/*b*/c"]',
  '["asd "]',
  '["\\uFFFF"]',
  '["\\uD834\\uDd1e"]',
  '["new\\u000Aline"]',
  '["\x7f"]',
  '["\\u200B"]',
  '["€𝄞"]',
  '["\u2028\u2029"]',
  '{"min":-1.0e+28,"max":1.0e+28}',
];

const INVALID: string[] = [
  "[1 true]",
  '["": 1]',
  '[""],',
  "[1,,2]",
  '["x"]]',
  '["",]',
  "[x",
  "[3[4]]",
  "[1,]",
  "[,]",
  "[*]",
  "[-]",
  "[fals]",
  "[tru]",
  "[nul]",
  "[++1234]",
  "[+1]",
  "[-01]",
  "[-1.0.]",
  "[-2.]",
  "[.-1]",
  "[.2e-3]",
  "[0.1.2]",
  "[0.3e+]",
  "[0.3e]",
  "[0.e1]",
  "[0E+]",
  "[0e]",
  "[1.0e+]",
  "[1.0e-]",
  "[1 000.0]",
  "[1eE2]",
  "[2.e+3]",
  "[2.e3]",
  "[9.e+]",
  "[1+2]",
  "[0x1]",
  "[0x42]",
  "[-012]",
  "[012]",
  "[-foo]",
  "[- 1]",
  "[1a]",
  "[1ea]",
  "[2.]",
  "[.123]",
  "[１]",
  '["x", truth]',
  '{[: "x"}',
  '{"x", null}',
  '{"x"::"b"}',
  '{"a":"a" 123}',
  "{key: 'value'}",
  '{"a" b}',
  '{:"b"}',
  '{"a"}',
  "{1:1}",
  '{"id":0,}',
  '{"id":0,,}',
  "{'a':0}",
  '{"a":"b"}/**/',
  '{"a":"b"}//',
  '{"a":"b",,"c":"d"}',
  '{a: "b"}',
  '{"a":"a',
  '["\\u00A"]',
  '["\\uD800\\u"]',
  '["\\uD800\\u1"]',
  '["\\uD800\\u1x"]',
  "[é]",
  '["\\x00"]',
  '["\\🌀"]',
  '["\\uqqqq"]',
  '["\\"]',
  "['single']",
  '"abc',
  '["\\',
  '["a\x00a"]',
  '["\x1f"]',
  '["new\nline"]',
  "<.>",
  "[<null>]",
  "[1]x",
  "[1]]",
  "[True]",
  '{"x": true,',
  "[][]",
  "]",
  "{]",
  "[}",
  "\u00ef\u00bb{}",
  "å",
  "[\u000b]",
  "\u2060[]",
  "123\u0000",
];

/** Whatever is said of these, nothing traps, and a cut changes nothing. */
const UNDEFINED: string[] = [
  "[123123e100000]",
  "[-1e+9999]",
  "[1.5e+9999]",
  "[0.4e006699999999999999999999999999999]",
  "[100000000000000000000]",
  '["\\uDADA"]',
  '["\\uD888\\u1234"]',
  '["\\uD800\\n"]',
  '["\\uDd1ea"]',
  '["\\uD800\\uD800\\n"]',
  '["\\uD800abc"]',
  '["\\uDd1e\\uD834"]',
  "[NaN]",
  "[Infinity]",
  "[-Infinity]",
  "\ufeff{}",
];

describe("conformance", () => {
  it("takes what is valid", () => {
    expectAll(VALID, Progress.Done);
  });

  it("never takes what is invalid", () => {
    for (let i = 0; i < INVALID.length; i++) {
      const whole = progressOf(INVALID[i], 0);
      expect(whole).not.toBe(Progress.Done, INVALID[i]);
      expect(progressOf(INVALID[i], 1)).toBe(whole, INVALID[i] + " byte by byte");
    }
  });

  it("takes what implementations may, and says so at every cut", () => {
    expectAll(UNDEFINED, Progress.Done);
  });
});
