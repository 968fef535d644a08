// SPDX-License-Identifier: Apache-2.0
// How an answer's headers say that it is to be read.
import { AnswerKind, answerKindOf } from "../../../assembly/response/answer-kind";

function kindOf(contentType: string, contentEncoding: string = ""): AnswerKind {
  const type = String.UTF8.encode(contentType);
  const encoding = String.UTF8.encode(contentEncoding);
  return answerKindOf(
    changetype<usize>(type),
    type.byteLength,
    changetype<usize>(encoding),
    encoding.byteLength,
  );
}

describe("the kind of an answer", () => {
  it("is told by its content type, in any case and with parameters", () => {
    expect(kindOf("text/event-stream")).toBe(AnswerKind.EventStream);
    expect(kindOf("Text/Event-Stream; charset=utf-8")).toBe(AnswerKind.EventStream);
    expect(kindOf("application/json")).toBe(AnswerKind.Json);
    expect(kindOf("application/json; charset=utf-8", "identity")).toBe(AnswerKind.Json);
  });

  it("is unknown when compressed, absent or something else", () => {
    expect(kindOf("application/json", "gzip")).toBe(AnswerKind.Unknown);
    expect(kindOf("text/event-stream", "gzip, identity")).toBe(AnswerKind.Unknown);
    expect(kindOf("")).toBe(AnswerKind.Unknown);
    expect(kindOf("text/event")).toBe(AnswerKind.Unknown);
    expect(kindOf("text/plain")).toBe(AnswerKind.Unknown);
  });
});
