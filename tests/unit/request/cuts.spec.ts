// SPDX-License-Identifier: Apache-2.0
// What is known of a body that is cut: the turn and its boundaries, at every byte.
import { Request } from "../../../assembly/request/request";
import { CHAT, endChain, MESSAGES, Reading, RESPONSES } from "./reading";

/** A piece of a body, and the turn that is known from its last byte on. */
class Piece {
  constructor(
    readonly text: string,
    readonly turn: i32,
  ) {}
}

class Body {
  readonly pieces: Piece[] = [];

  constructor(
    readonly name: string,
    readonly path: string,
  ) {}

  then(text: string, turn: i32): Body {
    this.pieces.push(new Piece(text, turn));
    return this;
  }

  get text(): string {
    let text = "";
    for (let i = 0; i < this.pieces.length; i++) text += this.pieces[i].text;
    return text;
  }

  /** Turn that is known of the first `size` characters. */
  turnAt(size: i32): i32 {
    let turn = 0;
    let end = 0;
    for (let i = 0; i < this.pieces.length; i++) {
      end += this.pieces[i].text.length;
      if (end <= size) turn = this.pieces[i].turn;
    }
    return turn;
  }
}

function read(body: Body, size: i32): Request {
  const reading = new Reading();
  reading.path = body.path;
  return reading.read(body.text.substring(0, size), false);
}

const BODIES: Body[] = [
  new Body("chat, roles first", CHAT)
    .then('{"messages":[{"role":"user","content":"Hi"}', 1)
    .then(',{"role":"assistant","content":"Hello."}', 1)
    .then(',{"role":"user"', 2)
    .then(',"content":"Look at a.ts"}', 2)
    .then(',{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",', 2)
    .then('"function":{"name":"read","arguments":"{}"}}]}', 3)
    .then(
      ',{"role":"tool","tool_call_id":"c1","content":"' + "export const a = 1;\\n".repeat(20),
      3,
    )
    .then('"},{"role":"assistant","content":"It is fine."}', 3)
    .then(',{"role":"user"', 4)
    .then(',"content":"Go on."}],"model":"m"}', 4),
  new Body("chat, roles last", CHAT)
    .then('{"messages":[{"content":"Hi","role":"user"}', 1)
    .then(',{"content":"Hello.","role":"assistant"},{"content":"Next","role":"user"', 2)
    .then('}],"model":"m"}', 2),
  new Body("a system item in the middle is the client's", CHAT)
    .then('{"messages":[{"role":"user","content":"Hi"}', 1)
    .then(',{"role":"assistant","content":"Hello."}', 1)
    .then(',{"role":"system"', 2)
    .then(',"content":"Be brief."},{"role":"user","content":"Next"}]}', 2),
  new Body("a role that nobody knows is a client's", CHAT)
    .then('{"messages":[{"role":"user","content":"Hi"}', 1)
    .then(',{"role":"assistant","content":"Hello."}', 1)
    .then(',{"role":"observer"', 2)
    .then(',"content":"Seen."}]}', 2),
  new Body("a prefill that is followed is none", CHAT)
    .then('{"messages":[{"role":"user","content":"Hi"}', 1)
    .then(',{"role":"assistant","content":"Hello.","prefix":true}', 1)
    .then(',{"role":"user"', 2)
    .then(',"content":"Next"}]}', 2),
  new Body("what continues is the last item", CHAT)
    .then('{"continue_final_message":true,"messages":[{"role":"user","content":"Hi"}', 1)
    .then(',{"role":"assistant","content":"Hello."}', 1)
    .then(',{"role":"user"', 2)
    .then(',"content":"Next"},{"role":"assistant","content":"Well"}]}', 2),
  new Body("messages", MESSAGES)
    .then('{"system":"S","messages":[{"role":"user","content":"Hi"}', 1)
    .then(',{"role":"assistant","content":[{"type":"text","text":"Hello."}]}', 1)
    .then(',{"role":"user"', 2)
    .then(',"content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}]}', 2),
  // All that a model wrote is real there, so its run counts at once.
  new Body("responses", RESPONSES)
    .then('{"input":[{"role":"user","content":"Hi"}', 1)
    .then(',{"type":"message","role":"assistant","content":"Hello."}', 2)
    .then(',{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}', 2)
    .then(',{"type":"function_call_output","call_id":"c","output":"ok"}', 2)
    .then(',{"type":"message","role":"assistant","content":"Done."}', 3)
    .then(',{"role":"user","content":"Next"}]}', 3),
];

describe("a body that is cut", () => {
  it("has the turn that is known so far, wherever it is cut", () => {
    for (let b = 0; b < BODIES.length; b++) {
      const body = BODIES[b];
      for (let size = 0; size <= body.text.length; size++) {
        const turn = read(body, size).turn;
        const place = body.name + " at " + size.toString();
        expect(turn).toBe(body.turnAt(size), place);
      }
    }
  });

  it("says of a run that is followed what it says at the end of the item behind it", () => {
    for (let b = 0; b < BODIES.length; b++) {
      const body = BODIES[b];
      for (let size = 1; size <= body.text.length; size++) {
        const before = read(body, size - 1);
        const request = read(body, size);
        if (request.turn == before.turn || request.items > before.items) continue;
        // The role has come: the run is whole, and ends where it ended.
        const end = endChain(before);
        expect(request.openRun).toBe(false, body.name);
        expect(endChain(request)).toBe(end, body.name);
        expect(request.boundaries[request.boundaryCount - 1].runs).toBe(request.turn - 1);
        expect(body.text.charCodeAt(request.lastModelEndByte - 1)).toBe(0x7d);
      }
    }
  });

  it("tells nothing of an open item once it is known that no more will come", () => {
    const body = BODIES[0];
    const cut = body.text.substring(0, body.text.indexOf("Look at"));
    const reading = new Reading();
    expect(reading.read(cut, false).turn).toBe(2);
    const ended = reading.read(cut);
    expect(ended.turn).toBe(0);
    expect(ended.lastModelEndByte).toBe(-1);
  });
});
