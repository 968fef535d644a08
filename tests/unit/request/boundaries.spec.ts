// SPDX-License-Identifier: Apache-2.0
// Which boundaries of a long conversation are kept, and what stands in them.
import { MAX_BOUNDARIES } from "../../../assembly/request/request";
import { Conversation } from "../../../assembly/request/conversation";
import { Request } from "../../../assembly/request/request";
import { assistant, chat, endChain, readChat, user } from "./reading";

/** A conversation of some closed runs, item by item. */
function converse(runs: i32): Request {
  const conversation = new Conversation();
  conversation.begin(7);
  conversation.addClientItem(1);
  for (let run = 1; run <= runs; run++) {
    conversation.addModelItem(run * 2, run, false, false);
    conversation.addClientItem(run * 2 + 1);
  }
  const request = new Request();
  conversation.answer(request, false, false);
  return request;
}

function keptRuns(request: Request): string {
  const runs: string[] = [];
  for (let i = 0; i < request.boundaryCount; i++) runs.push(request.boundaries[i].runs.toString());
  return runs.join(" ");
}

describe("boundaries", () => {
  it("are those of runs 1, 2, 4, 8, ... and the last four, and the end", () => {
    expect(keptRuns(converse(0))).toBe("0");
    expect(keptRuns(converse(1))).toBe("0 1");
    expect(keptRuns(converse(5))).toBe("0 1 2 3 4 5");
    expect(keptRuns(converse(20))).toBe("0 1 3 7 15 16 17 18 19 20");
    expect(keptRuns(converse(36))).toBe("0 1 3 7 15 31 32 33 34 35 36");
  });

  it("never outgrow a request", () => {
    const request = converse(40_000);
    expect(request.boundaryCount).toBe(MAX_BOUNDARIES);
    expect(request.turn).toBe(40_001);
  });

  it("are the ends of the requests before, wherever those ended", () => {
    for (let runs = 0; runs < 40; runs++) {
      const served = converse(runs);
      const next = converse(runs + 1);
      const before = next.boundaries[next.boundaryCount - 2];
      expect(before.chain).toBe(endChain(served));
      expect(before.runs + 1).toBe(served.turn);
    }
  });

  it("carry what lies before them and behind their run", () => {
    const request = readChat(chat([user("12345"), assistant("123"), user("1234567")].join(",")));
    expect(request.boundaryCount).toBe(2);
    expect(request.boundaries[0].prefixBytes).toBe(5);
    expect(request.boundaries[0].afterRunBytes).toBe(8);
    expect(request.boundaries[1].prefixBytes).toBe(15);
    expect(request.promptBytes).toBe(15);
    expect(request.boundaries[0].prefixTokens < request.boundaries[0].afterRunTokens).toBe(true);
  });

  it("include the one before an open run, which may prove real", () => {
    const served = readChat(chat(user("q")));
    const next = readChat(chat(user("q") + "," + assistant("a")));
    expect(next.openRun).toBe(true);
    expect(next.boundaryCount).toBe(2);
    expect(next.boundaries[0].chain).toBe(endChain(served));
    expect(next.boundaries[1].runs).toBe(0);
  });

  it("do not lie before the first item: all conversations would share it", () => {
    const request = readChat(chat([assistant("hello"), user("q")].join(",")));
    expect(request.turn).toBe(2);
    expect(request.boundaryCount).toBe(1);
  });
});
