// SPDX-License-Identifier: Apache-2.0
// The scanner: its tokens, its grammar, and that nobody can see where a document was cut.
import { hashName } from "../../../assembly/hash/text";
import { Progress } from "../../../assembly/json/progress";
import { MAX_DEPTH, Scanner } from "../../../assembly/json/scanner";
import { bytesOf, intoWindow } from "../window";
import { record, Recorder, recordBytes, scanBytes } from "./recorder";

const CHUNKS: i32[] = [1, 2, 3, 5, 7, 13, 16, 63, 64, 65, 127, 128, 1000];

function progressOf(text: string): Progress {
  return scanBytes(new Scanner<Recorder>(new Recorder()), bytesOf(text), 0);
}

function expectSameAtEveryCut(text: string): void {
  const whole = record(text, 0, true);
  for (let i = 0; i < CHUNKS.length; i++) {
    expect(record(text, CHUNKS[i], true)).toBe(whole, "chunks of " + CHUNKS[i].toString());
  }
}

/** The lines about pieces, and the text without its offset. */
function pieces(document: string, chunk: i32): string {
  const recorder = new Recorder();
  recorder.wantPieces = true;
  scanBytes(new Scanner<Recorder>(recorder), bytesOf(document), chunk);
  const lines: string[] = [];
  for (let i = 0; i < recorder.lines.length; i++) {
    const line = recorder.lines[i];
    if (line.startsWith("piece") || line.startsWith("text")) lines.push(line.split("@")[0]);
  }
  return lines.join("\n");
}

/** Line of a text token without its offset and without the kept text. */
function meaning(literal: string): string {
  const line = record(literal, 0).split("\n")[0];
  return line.split("@")[0];
}

describe("tokens", () => {
  it("say nothing of a text that an earlier document was cut in", () => {
    const recorder = new Recorder();
    recorder.wantPieces = true;
    const scanner = new Scanner<Recorder>(recorder);
    const begun = bytesOf('["' + "한국어 \\n".repeat(300));
    scanner.feed(intoWindow(begun, 0, begun.length), begun.length);
    expect(recorder.lines.length > 1).toBe(true);
    recorder.lines = [];
    scanBytes(scanner, bytesOf('["ab"]'), 0);
    expect(recorder.lines[1]).toBe("text " + hashName("ab").toString(16) + "/2/0/0@5");
    expect(scanner.token.escapes).toBe(0);
    expect(scanner.token.sample.bytes).toBe(0);
  });

  it("come in document order", () => {
    const lines = record('{"a":[1,true,"x"],"b":{}}', 0).split("\n");
    expect(lines.length).toBe(12);
    expect(lines[0]).toBe("{@1");
    expect(lines[1]).toBe("key " + hashName("a").toString(16) + "/1/0/0@4");
    expect(lines[2]).toBe("[@6");
    expect(lines[4]).toBe("literal 2@12");
    expect(lines[10]).toBe("}@25");
    expect(lines[11]).toBe("= 1");
  });

  it("have offsets, lengths and hashes that no cut can change", () => {
    const long = "0123456789abcdef".repeat(70);
    expectSameAtEveryCut('{"key":"' + long + '","' + long + '":[1.5e3,-0,12]}');
    expectSameAtEveryCut('["' + long + "\\n" + long + '\\"' + long + '\\\\"]');
    expectSameAtEveryCut('["' + long + "\\u00e9" + long + '\\ud83d\\ude00\\ud83d","\\u0041"]');
    expectSameAtEveryCut('["' + "\\\\".repeat(200) + '","' + "\\n\\t".repeat(100) + '"]');
    expectSameAtEveryCut('["' + "한국어 텍스트 ".repeat(40) + '", null , NaN, -Infinity, true]');
    expectSameAtEveryCut(' \n {\n "a" : [ ] ,\r\n\t"b" : { } }  \n');
  });

  it("report wanted pieces of a long text at the same places for every encoding and cut", () => {
    const plain = pieces('["' + "é\\n".repeat(1200) + '"]', 0);
    expect(plain.split("\n").length).toBe(5);
    for (let i = 0; i < CHUNKS.length; i++) {
      expect(pieces('["' + "é\\n".repeat(1200) + '"]', CHUNKS[i])).toBe(plain);
      expect(pieces('["' + "\\u00e9\\u000a".repeat(1200) + '"]', CHUNKS[i])).toBe(plain);
    }
  });
});

describe("a text", () => {
  it("has one hash for every way to write it", () => {
    expect(meaning('"r\\u006fle"')).toBe(meaning('"role"'));
    expect(meaning('"\\/"')).toBe(meaning('"/"'));
    expect(meaning('"\\u000a"')).toBe(meaning('"\\n"'));
    expect(meaning('"\\u0022"')).toBe(meaning('"\\""'));
    expect(meaning('"\\u005c"')).toBe(meaning('"\\\\"'));
    expect(meaning('"\\u00E9\\u00e9"')).toBe(meaning('"éé"'));
    expect(meaning('"\\ud83d\\ude00"')).toBe(meaning('"😀"'));
    expect(meaning('"\\u001F"')).toBe(meaning('"\\u001f"'));
    const row = "a".repeat(200);
    for (let at = 0; at < 200; at += 9) {
      const rewritten = row.substr(0, at) + "\\u0061" + row.substr(at + 1);
      expect(meaning('"' + rewritten + '"')).toBe(meaning('"' + row + '"'));
    }
  });

  it("counts decoded bytes and characters outside ASCII", () => {
    expect(meaning('"a\\n\\u00e9한😀"').split("/").slice(1).join("/")).toBe("11/9/3");
    expect(
      meaning('"' + "x".repeat(100) + '\\n\\"é"')
        .split("/")
        .slice(1)
        .join("/"),
    ).toBe("104/2/1");
    expect(meaning('"\\u0000"').split("/")[1]).toBe("1");
  });

  it("replaces a lone surrogate", () => {
    expect(meaning('"\\ud83d"')).toBe(meaning('"\\ufffd"'));
    expect(meaning('"\\ude00x"')).toBe(meaning('"\\ufffdx"'));
    expect(meaning('"\\ud83d\\n"')).toBe(meaning('"\\ufffd\\n"'));
    expect(meaning('"\\ud83d\\u0041"')).toBe(meaning('"\\ufffdA"'));
    expect(meaning('"\\ud83d\\ud83d\\ude00"')).toBe(meaning('"\\ufffd😀"'));
  });

  it("is kept decoded where it is wanted", () => {
    const lines = record(
      '["a\\n\\u00e9 and something longer than a vector \\"\\\\\\u001f"]',
      0,
      true,
    );
    expect(lines.includes("'a\né and something longer than a vector \"\\\x1f'")).toBe(true);
  });
});

describe("a number", () => {
  it("has one hash for every way to write it", () => {
    const hash = meaning("[1000]").length;
    expect(hash > 0).toBe(true);
    const same: string[] = ["1000", "1000.0", "1e3", "1.0E+3", "10000e-1", "0.001e6", "1000.000"];
    for (let i = 1; i < same.length; i++) expect(numberLine(same[i])).toBe(numberLine("1000"));
    expect(numberLine("-0")).toBe(numberLine("0.0e5"));
    expect(numberLine("-1")).not.toBe(numberLine("1"));
    expect(numberLine("10")).not.toBe(numberLine("1"));
    expect(numberLine("0.1")).toBe(numberLine("1e-1"));
    expect(numberLine("12345678901234567890123")).not.toBe(numberLine("12345678901234567890124"));
    expect(numberLine("100000000000000000000000000")).toBe(numberLine("1e26"));
  });

  it("has its value", () => {
    expect(numberLine("0.05").endsWith(" 0.05")).toBe(true);
    expect(numberLine("-12.5e2").endsWith(" -1250.0")).toBe(true);
    expect(numberLine("9007199254740991").endsWith(" 9007199254740991.0")).toBe(true);
  });

  it("may be the whole document", () => {
    expect(progressOf("12")).toBe(Progress.Done);
    expect(progressOf("-")).toBe(Progress.Malformed);
  });
});

function numberLine(text: string): string {
  return record("[" + text + "]", 0).split("\n")[1];
}

describe("the grammar", () => {
  it("refuses what is not JSON, at every cut", () => {
    const bad: string[] = [
      "{,}",
      '{"a"}',
      '{"a":}',
      '{"a":1,}',
      "[1,]",
      "[,1]",
      "[1 2]",
      '{"a" "b"}',
      "{1:2}",
      "[1}",
      '{"a":1]',
      "]",
      "}",
      ",",
      ":",
      "[01]",
      "[1.]",
      "[.5]",
      "[+1]",
      "[1e]",
      "[1e+]",
      "[-]",
      "[--1]",
      "[tru]",
      "[truex]",
      "[nul]",
      "[nan]",
      "[Inf]",
      "[-NaN]",
      '["\\a"]',
      '["\\x41"]',
      '["\\u12g4"]',
      '["a\tb"]',
      '["a\nb"]',
      '["\\u123"]',
      "{} {}",
      "{}x",
      "[1]]",
      '"a""b"',
      "'a'",
      "[1,\x0c2]",
      '{"a":1 "b":2}',
      "undefined",
      "[0x10]",
      '\\u0022a"',
      "{a:1}",
      '["' + "x".repeat(90) + '\\q"]',
      '["' + "x".repeat(90) + '\t"]',
      "[" + "1".repeat(200) + "]",
    ];
    for (let i = 0; i < bad.length; i++) {
      expect(progressOf(bad[i])).toBe(Progress.Malformed, bad[i]);
      for (let chunk = 1; chunk < 4; chunk++) {
        const progress = scanBytes(new Scanner<Recorder>(new Recorder()), bytesOf(bad[i]), chunk);
        expect(progress).toBe(Progress.Malformed, bad[i]);
      }
    }
  });

  it("knows an escaped quote in a block that it has to read twice", () => {
    // The row of backslashes crosses a block, and a control character behind its quote stops the skimming there.
    for (let first = 0; first < 30; first++) {
      for (let row = 60; row < 100; row++) {
        const text = "\\".repeat(first * 2) + "e" + "\\".repeat(row);
        const broken = '[{"a":"' + text + '"\t },\t {"":""}]';
        const expected = row % 2 == 1 ? Progress.Malformed : Progress.Done;
        expect(progressOf(broken)).toBe(expected, first.toString() + " and " + row.toString());
      }
    }
  });

  it("says that a document was cut", () => {
    const cut: string[] = [
      "",
      "{",
      '{"a',
      '{"a"',
      '{"a":',
      '{"a":1',
      '{"a":1,',
      "[",
      "[1",
      '["',
      "[tr",
      '["\\',
      '["\\u0',
      "  ",
    ];
    for (let i = 0; i < cut.length; i++) expect(progressOf(cut[i])).toBe(Progress.NeedMore, cut[i]);
  });

  it("takes a byte order mark in front and nowhere else", () => {
    const document = bytesOf("\ufeff{}");
    for (let chunk = 0; chunk < 4; chunk++) {
      expect(scanBytes(new Scanner<Recorder>(new Recorder()), document, chunk)).toBe(Progress.Done);
    }
    expect(progressOf(" \ufeff{}")).toBe(Progress.Malformed);
    expect(progressOf("\ufeff\ufeff{}")).toBe(Progress.Malformed);
  });

  it("takes bytes inside a text that are not UTF-8", () => {
    const document = bytesOf('["ab","cd"]');
    document[2] = 0xc3;
    document[3] = 0x28;
    document[7] = 0xff;
    expect(recordBytes(document, 0).endsWith("= 1")).toBe(true);
  });

  it("refuses documents deeper than its bits, without a trap", () => {
    expect(progressOf("[".repeat(MAX_DEPTH) + "]".repeat(MAX_DEPTH))).toBe(Progress.Done);
    expect(progressOf("[".repeat(10000) + "]".repeat(10000))).toBe(Progress.Malformed);
    expect(progressOf('{"a":'.repeat(10000))).toBe(Progress.Malformed);
  });
});
