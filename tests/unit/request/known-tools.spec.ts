// SPDX-License-Identifier: Apache-2.0
// A list of tools that was read before: what it comes to the second time, and what is not taken for it.
import { Request } from "../../../assembly/request/request";
import { chat, CHAT, readChat, readOn, RESPONSES, user } from "./reading";

function tool(name: string, more: string = ""): string {
  const text = 'Reads a file, \\u00fcber alles, with \\"quotes\\" and '.repeat(12);
  return (
    '{"type":"function","function":{"name":"' +
    name +
    '","description":"' +
    text +
    '"}' +
    more +
    "}"
  );
}

function withTools(tools: string, more: string = ""): string {
  return chat(user("hi"), ',"tools":' + tools + more);
}

/** Everything that tools have a part in. */
function headOf(request: Request): string {
  let text = request.reading.toString() + " " + request.head.toString(16);
  text += " " + request.headBytes.toString() + " " + request.headTokens.toString();
  text += " " + request.promptBytes.toString() + " " + request.promptTokens.toString();
  text += " " + request.ambiguous.toString() + " " + request.stream.toString();
  for (let i = 0; i < request.headPieceCount; i++) {
    text += "\n" + request.headPieces[i].toString(16) + " " + request.headPieceBytes[i].toString();
    text += " " + request.headPieceTokens[i].toString();
  }
  return text;
}

describe("a known list of tools", () => {
  it("comes to the same as when it is read, whatever stands around it", () => {
    const tools = "[" + tool("a") + "," + tool("b", ',"strict":true') + "]";
    // White space around the list is none of its bytes; one more in it is another list.
    const read = headOf(readChat(withTools(tools, ',"stream":true')));
    expect(headOf(readChat(withTools(tools, ',"stream":true')))).toBe(read);
    expect(headOf(readChat(withTools(" " + tools + "\n", ',"stream":true')))).toBe(read);
    const spaced = tools.replace("[{", "[ {");
    expect(headOf(readChat(withTools(spaced, ',"stream":true')))).toBe(read);
    expect(
      headOf(readChat('{"tools":' + tools + ',"stream":true,' + chat(user("hi")).substring(1))),
    ).toBe(read);
  });

  it("counts for other formats and for a second key as when it is read", () => {
    const tools = "[" + tool("c") + "]";
    const body = '{"input":[' + user("hi") + '],"tools":' + tools + ',"stream":true}';
    const first = headOf(readOn(RESPONSES, body));
    expect(headOf(readOn(RESPONSES, body))).toBe(first);
    const twice = withTools("[" + tool("d") + "]", ',"tools":' + tools);
    const request = readOn(CHAT, twice);
    expect(request.ambiguous).toBe(true);
    expect(headOf(readOn(CHAT, twice))).toBe(headOf(request));
    expect(request.head).toBe(readChat(withTools(tools)).head);
  });

  it("is not taken for one that differs in any byte, or goes on", () => {
    const tools = "[" + tool("e") + "," + tool("f") + "]";
    const head = readChat(withTools(tools)).head;
    for (let at = 1; at < tools.length - 1; at += 7) {
      if (tools.charCodeAt(at) < 0x61 || tools.charCodeAt(at) > 0x79) continue;
      if (tools.charCodeAt(at - 1) == 0x5c || tools.charCodeAt(at - 2) == 0x5c) continue;
      const other = tools.substring(0, at) + "z" + tools.substring(at + 1);
      const request = readChat(withTools(other));
      if (request.reading == 1) expect(request.head).not.toBe(head, other);
    }
    expect(
      readChat(withTools("[" + tool("e") + "," + tool("f") + "," + tool("g") + "]")).head,
    ).not.toBe(head);
    expect(readChat(withTools("[" + tool("e") + "]")).head).not.toBe(head);
    expect(readChat(withTools(tools)).head).toBe(head);
  });

  it("gives way to newer ones, and is learned again", () => {
    const heads: u64[] = [];
    for (let round = 0; round < 3; round++) {
      for (let list = 0; list < 7; list++) {
        const head = readChat(withTools("[" + tool("t" + list.toString()) + "]")).head;
        if (round == 0) heads.push(head);
        expect(head).toBe(heads[list]);
      }
    }
    for (let list = 1; list < 7; list++) expect(heads[list]).not.toBe(heads[0]);
  });

  it("is read where it is too long to keep, or cut by a window", () => {
    const long = "[" + tool("long").repeat(60).replaceAll("}{", "},{") + "]";
    expect(long.length > 32 * 1024).toBe(true);
    const read = headOf(readChat(withTools(long)));
    expect(headOf(readChat(withTools(long)))).toBe(read);
    const tools = "[" + tool("cut") + "]";
    const question = user("x".repeat(64 * 1024 - 300));
    const body = chat(question, ',"tools":' + tools);
    const cut = headOf(readChat(body));
    readChat(withTools(tools));
    expect(headOf(readChat(body))).toBe(cut);
  });
});
