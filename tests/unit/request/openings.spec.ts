// SPDX-License-Identifier: Apache-2.0
// Items whose beginning is known as a whole say the same as when every token of it is read.
import {
  CHAT_OPENINGS,
  MAX_OPENING_BYTES,
  TYPED_OPENINGS,
} from "../../../assembly/request/openings";
import { RequestReader } from "../../../assembly/request/reader";
import { Request } from "../../../assembly/request/request";
import { bytesOf, intoWindow } from "../window";
import { CHAT, MESSAGES, pathKind, RESPONSES } from "./reading";

const reader = new RequestReader();

/** Reads a body in chunks; in those of one byte no beginning is ever in sight as a whole. */
function read(path: string, body: string, chunk: i32): string {
  const bytes = bytesOf(body);
  const request = new Request();
  reader.reset(7, pathKind(path));
  for (let at = 0; at < bytes.length; at += chunk) {
    const size = min(chunk, bytes.length - at);
    reader.feed(intoWindow(bytes, at, size), size);
  }
  reader.finish();
  reader.answer(request);
  return told(request);
}

function told(request: Request): string {
  const numbers: i64[] = [
    request.reading,
    request.dialect,
    request.turn,
    request.items,
    request.lastModelEndByte,
    request.head,
    request.headBytes,
    request.headTokens,
    request.promptBytes,
    request.promptTokens,
    request.openRun ? 1 : 0,
    request.ambiguous ? 1 : 0,
  ];
  for (let i = 0; i < request.headPieceCount; i++) {
    numbers.push(request.headPieces[i]);
    numbers.push(request.headPieceBytes[i]);
    numbers.push(request.headPieceTokens[i]);
  }
  for (let i = 0; i < request.boundaryCount; i++) {
    const boundary = request.boundaries[i];
    numbers.push(boundary.chain);
    numbers.push(boundary.runs);
    numbers.push(boundary.prefixBytes);
    numbers.push(boundary.prefixTokens);
    numbers.push(boundary.afterRunBytes);
    numbers.push(boundary.afterRunTokens);
  }
  return numbers.join(" ");
}

const LONG = '"' + "A text of many pieces, and so on. ".repeat(80) + '"';
/** What may follow the beginning, up to the end of the item or of the body. */
const RESTS: string[] = [
  '"hi"}',
  ' "hi" , "name":"n"}',
  LONG + "}",
  "null}",
  '[{"type":"text","text":"hi"},{"type":"text","text":' + LONG + "}]}",
  '"hi","role":"assistant"}',
  '"hi","content":"again","tool_call_id":"x"}',
  '"call_1","content":"done"}',
  '"call_1","name":"f","arguments":"{\\"a\\":1}"}',
  '"call_1","output":[{"type":"input_text","text":"done"}]}',
  'null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}',
  '{"text":"as an object"}}',
  "17}",
  "}",
  ",}",
  '"hi"]',
];

function expectSame(path: string, list: string, openings: string[]): void {
  const more = ',{"role":"assistant","content":"yes"},{"role":"user","content":"go on"}';
  for (let i = 0; i < openings.length; i++) {
    expect(openings[i].length <= MAX_OPENING_BYTES).toBe(true, openings[i]);
    for (let k = 0; k < RESTS.length; k++) {
      const item = openings[i] + RESTS[k];
      const first = '{"model":"m","' + list + '":[' + item + more + "]}";
      expect(read(path, first, 1 << 15)).toBe(read(path, first, 1), first);
      const later =
        '{"' +
        list +
        '":[' +
        item.replace('"hi"', '"ho"') +
        more +
        "," +
        item +
        "," +
        item +
        more +
        "]}";
      expect(read(path, later, 1 << 15)).toBe(read(path, later, 1), later);
      const cut = later.length - (k % 7) - 40;
      const begun = later.substring(0, cut);
      expect(read(path, begun, 1 << 15)).toBe(read(path, begun, 1), begun);
    }
  }
}

describe("an item with a known beginning", () => {
  it("says the same in chat", () => {
    expectSame(CHAT, "messages", CHAT_OPENINGS);
    expectSame(CHAT, "messages", TYPED_OPENINGS);
    expectSame(CHAT, "input", CHAT_OPENINGS);
  });

  it("says the same in Messages", () => {
    expectSame(MESSAGES, "messages", CHAT_OPENINGS);
  });

  it("says the same in Responses", () => {
    expectSame(RESPONSES, "input", CHAT_OPENINGS);
    expectSame(RESPONSES, "input", TYPED_OPENINGS);
    expectSame(RESPONSES, "messages", TYPED_OPENINGS);
  });

  it("is read where the beginning stands elsewhere, or is cut off", () => {
    const texts: string[] = [
      '{"prompt":[{"role":"user","content":"hi"}]}',
      '{"messages":{"role":"user","content":"hi"}}',
      '{"messages":[[{"role":"user","content":"hi"}]]}',
      '{"tools":[{"role":"user","content":"hi"}],"messages":[{"role":"user","content":"hi"}]}',
      '{"messages":[{"role":"user","content":"hi"}],"messages":[{"role":"user","content":"ho"}]}',
      '{"messages":[{"role":"user","content":[{"role":"user","content":"hi"}]}]}',
      '[{"role":"user","content":"hi"}]',
      '{"messages":[{"role":"user","contents":"hi"},{"role":"userx","content":"hi"}]}',
    ];
    for (let i = 0; i < texts.length; i++) {
      for (let cut = 1; cut <= texts[i].length; cut++) {
        const text = texts[i].substring(0, cut);
        expect(read(CHAT, text, 1 << 15)).toBe(read(CHAT, text, 1), text);
      }
    }
  });
});
