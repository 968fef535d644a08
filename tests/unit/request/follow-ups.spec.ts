// SPDX-License-Identifier: Apache-2.0
// What a request shares with one that was served before it, one row each, and how early that is known.
import { Reading as Outcome, Request } from "../../../assembly/request/request";
import {
  assistant,
  CALLS,
  chat,
  deepestShared,
  endChain,
  followsUp,
  NOTHING,
  readChat,
  Reading,
  RESULTS,
  system,
  user,
} from "./reading";

/** What a follow-up shares with a request that was served before it. */
class Follow {
  constructor(
    readonly name: string,
    readonly served: string,
    readonly next: string,
    /** Runs before the deepest common boundary, or NOTHING. */
    readonly runs: i32,
    /** The whole request comes back. */
    readonly follows: bool,
  ) {}
}

const HISTORY: string = [user("q"), CALLS, RESULTS, assistant("a"), user("r")].join(",");

const FOLLOWS: Follow[] = [
  new Follow(
    "a follow-up",
    chat(HISTORY),
    chat(HISTORY + "," + assistant("b") + "," + user("s")),
    2,
    true,
  ),
  new Follow(
    "a fork shares the history up to it",
    chat(HISTORY),
    chat([user("q"), CALLS, RESULTS, assistant("other"), user("r")].join(",")),
    1,
    false,
  ),
  new Follow("a retry is the same request", chat(HISTORY), chat(HISTORY), 2, true),
  new Follow(
    "an edit keeps what lies before it",
    chat([HISTORY, assistant("b"), user("s")].join(",")),
    chat([HISTORY, assistant("b"), user("edited")].join(",")),
    2,
    false,
  ),
  new Follow(
    "a compaction shares nothing",
    chat(HISTORY),
    chat(user("Summary: ...")),
    NOTHING,
    false,
  ),
  new Follow(
    "the compaction call sends everything back",
    chat(HISTORY),
    chat([HISTORY, assistant("b"), user("summarise")].join(",")),
    2,
    true,
  ),
  new Follow(
    "a sliding window shares nothing",
    chat(system("s") + "," + HISTORY),
    chat([system("s"), RESULTS, assistant("a"), user("r"), assistant("b"), user("s")].join(",")),
    NOTHING,
    false,
  ),
  new Follow(
    "a pruned result keeps what lies before it",
    chat(HISTORY),
    chat(
      [
        user("q"),
        CALLS,
        RESULTS.replace('"1"', '"(pruned)"'),
        assistant("a"),
        user("r"),
        assistant("b"),
        user("s"),
      ].join(","),
    ),
    0,
    false,
  ),
  new Follow(
    "a clock in the system text does not touch the chain",
    chat(system("It is 10:00.") + "," + HISTORY),
    chat([system("It is 10:01."), HISTORY, assistant("b"), user("s")].join(",")),
    2,
    true,
  ),
  new Follow(
    "moved tools do not touch the chain",
    chat(HISTORY, ',"tools":[{"name":"a"},{"name":"b"}]'),
    chat(HISTORY + "," + assistant("b") + "," + user("s"), ',"tools":[{"name":"b"},{"name":"a"}]'),
    2,
    true,
  ),
  new Follow(
    "a reminder that moves keeps the boundary one run earlier",
    chat([user("q"), assistant("a"), user("r <reminder/>")].join(",")),
    chat([user("q"), assistant("a"), user("r"), assistant("b"), user("s <reminder/>")].join(",")),
    0,
    false,
  ),
  new Follow(
    "a text becomes a list with a marker",
    chat(HISTORY),
    chat(
      [
        HISTORY.replace(
          '"content":"r"',
          '"content":[{"type":"text","text":"r","cache_control":{"type":"ephemeral"}}]',
        ),
        assistant("b"),
        user("s"),
      ].join(","),
    ),
    2,
    true,
  ),
  new Follow(
    "reasoning is dropped",
    chat([user("q"), '{"role":"assistant","content":"a","reasoning":"t"}', user("r")].join(",")),
    chat([user("q"), assistant("a"), user("r"), assistant("b"), user("s")].join(",")),
    1,
    true,
  ),
  new Follow(
    "a gateway between writes the body anew",
    chat(HISTORY),
    '{ "stream" : false, "messages" : [ ' +
      HISTORY.replaceAll(
        '{"role":"user","content":"q"}',
        '{"content": "\\u0071", "role": "user"}',
      ) +
      " , " +
      assistant("b") +
      "," +
      user("s") +
      ' ], "model" : "m" }',
    2,
    true,
  ),
];

describe("a follow-up", () => {
  it("shares what it does in every row", () => {
    for (let i = 0; i < FOLLOWS.length; i++) {
      const row = FOLLOWS[i];
      const served = readChat(row.served);
      const next = readChat(row.next);
      expect(deepestShared(next, served)).toBe(row.runs, row.name);
      expect(followsUp(next, served)).toBe(row.follows, row.name);
    }
  });
});

function sameRequest(a: Request, b: Request): bool {
  return endChain(a) == endChain(b) && a.head == b.head && a.turn == b.turn;
}

describe("the answer at any time", () => {
  it("is the deepest boundary so far, wherever the body is cut", () => {
    const body = chat(HISTORY + "," + assistant("b") + "," + user("s"), ',"tools":[{"name":"f"}]');
    const served = readChat(chat(HISTORY));
    const whole = readChat(body);
    let deepest = NOTHING;
    for (let end = 0; end < body.length; end += 3) {
      const part = new Reading().read(body.substring(0, end), false);
      expect(part.reading).toBe(Outcome.Open);
      const runs = deepestShared(part, served);
      expect(runs >= deepest).toBe(true, end.toString());
      expect(part.turn <= whole.turn).toBe(true);
      deepest = runs;
    }
    expect(deepest).toBe(2);
    expect(sameRequest(whole, readChat(body))).toBe(true);
  });
});
