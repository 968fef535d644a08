// SPDX-License-Identifier: Apache-2.0
// The quirks of agents and SDKs, one row each: what a request is, and what its follow-up shares with it.
import { PathKind } from "../../../assembly/request/paths";
import { Reading as Outcome, Request } from "../../../assembly/request/request";
import {
  assistant,
  chat,
  CHAT,
  deepestShared,
  endChain,
  followsUp,
  MESSAGES,
  NOTHING,
  pathKind,
  readChat,
  Reading,
  readOn,
  RESPONSES,
  system,
  user,
} from "./reading";

const CALLS =
  '{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"g","arguments":"{}"}}]}';
const RESULTS =
  '{"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"b","content":"2"}';

/** A request and the turn that it is. */
class Turn {
  constructor(
    readonly name: string,
    readonly path: string,
    readonly body: string,
    readonly turn: i32,
    readonly openRun: bool = false,
  ) {}
}

const TURNS: Turn[] = [
  new Turn(
    "Q1 few-shot examples count as turns, structurally",
    CHAT,
    chat([user("x"), assistant("X"), user("y"), assistant("Y"), user("z")].join(",")),
    3,
  ),
  new Turn(
    "Q2 a prefill marked by `prefix` is no run",
    CHAT,
    chat(user("q") + ',{"role":"assistant","content":"{","prefix":true}'),
    1,
    true,
  ),
  new Turn(
    "Q2 a prefill marked by `partial` is no run",
    CHAT,
    chat(user("q") + ',{"role":"assistant","content":"{","partial":true}'),
    1,
    true,
  ),
  new Turn(
    "Q2 an unmarked plain text at the end may be a prefill",
    MESSAGES,
    chat(user("q") + "," + assistant("{")),
    1,
    true,
  ),
  new Turn(
    "Q2 a prefill of Messages after a turn",
    MESSAGES,
    chat([user("q"), assistant("a"), user("r"), assistant("{")].join(",")),
    2,
    true,
  ),
  new Turn("Q3 a call at the end is real", CHAT, chat(user("q") + "," + CALLS), 2),
  new Turn(
    "Q3 a paused server tool at the end is real",
    MESSAGES,
    chat(
      user("q") +
        ',{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}}]}',
    ),
    2,
  ),
  new Turn(
    "Q3 thinking at the end shows a model",
    MESSAGES,
    chat(
      user("q") +
        ',{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"a"}]}',
    ),
    2,
  ),
  new Turn(
    "Q3 a refusal at the end is real",
    CHAT,
    chat(user("q") + ',{"role":"assistant","content":null,"refusal":"no"}'),
    2,
  ),
  new Turn(
    "Q3 audio at the end is real",
    CHAT,
    chat(user("q") + ',{"role":"assistant","audio":{"id":"audio_1"}}'),
    2,
  ),
  new Turn(
    "Q3 Responses knows no prefill",
    RESPONSES,
    '{"input":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}',
    2,
  ),
  new Turn(
    "Q3 a continued final message is no run, even with calls",
    CHAT,
    chat(user("q") + "," + CALLS, ',"continue_final_message":true'),
    1,
    true,
  ),
  new Turn(
    "Q4 assistant items in a row are one run",
    CHAT,
    chat([user("q"), assistant("a"), assistant("b"), CALLS, RESULTS].join(",")),
    2,
  ),
  new Turn(
    "Q5 parallel calls in one item are one run",
    CHAT,
    chat([user("q"), CALLS, RESULTS].join(",")),
    2,
  ),
  new Turn(
    "Q6 calls stored one by one are several runs",
    CHAT,
    chat([user("q"), CALLS, RESULTS, CALLS, RESULTS].join(",")),
    3,
  ),
  new Turn(
    "Q7 a sub-agent with its own prompt is at its first turn",
    CHAT,
    chat(system("You search.") + "," + user("find x")),
    1,
  ),
  new Turn(
    "Q12 after a compaction the turn starts again",
    CHAT,
    chat(system("s") + "," + user("Summary so far: ...")),
    1,
  ),
  new Turn(
    "Q30 look-alikes elsewhere do not count",
    CHAT,
    '{"metadata":{"messages":[{"role":"assistant"}]},"prediction":{"content":"{\\"role\\":\\"assistant\\"}"},"response_format":{"json_schema":{"messages":[{"role":"assistant"}]}},"messages":[' +
      user('{"role":"assistant"}') +
      "]}",
    1,
  ),
  new Turn(
    "Q32 history on the server is at least the second turn",
    RESPONSES,
    '{"previous_response_id":"resp_1","input":"go on"}',
    2,
  ),
  new Turn("Q33 several answers are one turn", CHAT, chat(user("q"), ',"n":4'), 1),
  new Turn("Q34 an empty list is no conversation", CHAT, chat(""), 0),
  new Turn("Q34 an object is no list", CHAT, '{"messages":{"role":"user"}}', 0),
  new Turn("Q34 a text is no list of messages", CHAT, '{"messages":null}', 0),
  new Turn(
    "Q34 a missing role is the client's",
    CHAT,
    chat([user("q"), assistant("a"), '{"content":"x"}'].join(",")),
    2,
  ),
  new Turn(
    "Q34 an unknown role is the client's",
    CHAT,
    chat([user("q"), assistant("a"), '{"role":"critic","content":"x"}'].join(",")),
    2,
  ),
  new Turn(
    "Q34 a null item is skipped",
    CHAT,
    chat([user("q"), "null", assistant("a"), "null", user("r")].join(",")),
    2,
  ),
  new Turn(
    "Q35 a system item between runs closes one",
    MESSAGES,
    chat([user("q"), assistant("a"), system("now be brief"), assistant("b"), user("r")].join(",")),
    3,
  ),
];

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
    "Q8 a fork shares the history up to it",
    chat(HISTORY),
    chat([user("q"), CALLS, RESULTS, assistant("other"), user("r")].join(",")),
    1,
    false,
  ),
  new Follow("Q10 a retry is the same request", chat(HISTORY), chat(HISTORY), 2, true),
  new Follow(
    "Q11 an edit keeps what lies before it",
    chat([HISTORY, assistant("b"), user("s")].join(",")),
    chat([HISTORY, assistant("b"), user("edited")].join(",")),
    2,
    false,
  ),
  new Follow(
    "Q12 a compaction shares nothing",
    chat(HISTORY),
    chat(user("Summary: ...")),
    NOTHING,
    false,
  ),
  new Follow(
    "Q13 the compaction call sends everything back",
    chat(HISTORY),
    chat([HISTORY, assistant("b"), user("summarise")].join(",")),
    2,
    true,
  ),
  new Follow(
    "Q14 a sliding window shares nothing",
    chat(system("s") + "," + HISTORY),
    chat([system("s"), RESULTS, assistant("a"), user("r"), assistant("b"), user("s")].join(",")),
    NOTHING,
    false,
  ),
  new Follow(
    "Q15 a pruned result keeps what lies before it",
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
    "Q16 a clock in the system text does not touch the chain",
    chat(system("It is 10:00.") + "," + HISTORY),
    chat([system("It is 10:01."), HISTORY, assistant("b"), user("s")].join(",")),
    2,
    true,
  ),
  new Follow(
    "Q18 moved tools do not touch the chain",
    chat(HISTORY, ',"tools":[{"name":"a"},{"name":"b"}]'),
    chat(HISTORY + "," + assistant("b") + "," + user("s"), ',"tools":[{"name":"b"},{"name":"a"}]'),
    2,
    true,
  ),
  new Follow(
    "Q19 a reminder that moves keeps the boundary one run earlier",
    chat([user("q"), assistant("a"), user("r <reminder/>")].join(",")),
    chat([user("q"), assistant("a"), user("r"), assistant("b"), user("s <reminder/>")].join(",")),
    0,
    false,
  ),
  new Follow(
    "Q20 a text becomes a list with a marker",
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
    "Q21 reasoning is dropped",
    chat([user("q"), '{"role":"assistant","content":"a","reasoning":"t"}', user("r")].join(",")),
    chat([user("q"), assistant("a"), user("r"), assistant("b"), user("s")].join(",")),
    1,
    true,
  ),
  new Follow(
    "Q37 a gateway between writes the body anew",
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

describe("the turn of a request", () => {
  it("is right in every row", () => {
    for (let i = 0; i < TURNS.length; i++) {
      const row = TURNS[i];
      const request = readOn(row.path, row.body);
      expect(request.turn).toBe(row.turn, row.name);
      expect(request.openRun).toBe(row.openRun, row.name);
    }
  });
});

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

describe("Q17 the billing nonce of Claude Code", () => {
  it("is no part of the head while the switch is on", () => {
    const body = (nonce: string): string =>
      '{"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1; cch=' +
      nonce +
      ';"},{"type":"text","text":"You are an agent."}],"messages":[' +
      user("q") +
      "]}";
    const reading = new Reading();
    reading.path = MESSAGES;
    const first = reading.read(body("AAAAA"));
    const second = reading.read(body("BBBBB"));
    expect(second.head).toBe(first.head);
    expect(first.headBytes).toBe(17);
    expect(endChain(second)).toBe(endChain(first));
    reading.skipNonce = false;
    expect(reading.read(body("AAAAA")).head).not.toBe(reading.read(body("BBBBB")).head);
  });
});

describe("Q24 a picture of megabytes", () => {
  it("is hashed as it passes and counts as a fixed number of tokens", () => {
    const body = (data: string): string =>
      chat(
        '{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,' +
          data +
          '"}},{"type":"text","text":"what is it"}]}',
      );
    const small = readChat(body("AAAA"));
    const large = readChat(body("A".repeat(100_000)));
    expect(large.promptTokens).toBe(small.promptTokens);
    expect(large.promptBytes).toBe(10);
    expect(endChain(large)).not.toBe(endChain(small));
  });
});

describe("Q28 duplicate keys", () => {
  it("let the last one count, and are flagged", () => {
    const request = readChat(
      '{"model":"a","messages":[' +
        user("q") +
        '],"model":"b","messages":[' +
        [user("q"), assistant("a"), user("r")].join(",") +
        "]}",
    );
    expect(request.turn).toBe(2);
    expect(request.ambiguous).toBe(true);
    const single = readChat(
      '{"model":"b","messages":[' + [user("q"), assistant("a"), user("r")].join(",") + "]}",
    );
    expect(single.ambiguous).toBe(false);
    expect(request.model).toBe(single.model);
    expect(endChain(request)).toBe(endChain(single));
  });

  it("inside an item are flagged, too", () => {
    expect(readChat(chat('{"role":"user","content":"a","content":"b"}')).ambiguous).toBe(true);
    expect(readChat(chat('{"role":"user","role":"assistant","content":"b"}')).ambiguous).toBe(true);
    expect(readChat(chat('{"role":"user","content":"a","x":1,"y":1}')).ambiguous).toBe(false);
  });
});

describe("Q29 documents that are broken or odd", () => {
  it("have no turn when they prove broken", () => {
    const good = chat([user("q"), assistant("a"), user("r")].join(","));
    const broken: string[] = [
      good + "x",
      good + "{}",
      good.replace('"model"', "model"),
      good.replace(",", ",,"),
    ];
    for (let i = 0; i < broken.length; i++) {
      const request = readChat(broken[i]);
      expect(request.reading).toBe(Outcome.Malformed, broken[i]);
      expect(request.turn).toBe(0, broken[i]);
    }
    const cut = readChat(good.substring(0, good.length - 1));
    expect(cut.reading).toBe(Outcome.Truncated);
    expect(cut.turn).toBe(0);
  });

  it("keep their turn with a byte order mark, deep values, not-a-number", () => {
    const deep = "[".repeat(500) + "]".repeat(500);
    expect(readChat("\ufeff" + chat(user("q"))).turn).toBe(1);
    expect(readChat(chat(user("q"), ',"x":' + deep)).turn).toBe(1);
    expect(
      readChat(chat('{"role":"user","content":' + deep + "}," + assistant("a") + "," + user("r")))
        .turn,
    ).toBe(2);
    expect(readChat(chat(user("q"), ',"temperature":NaN,"top_p":-Infinity')).turn).toBe(1);
  });

  it("tell deep values apart", () => {
    const body = (leaf: string): string =>
      chat(
        '{"role":"user","content":"q","x":' + '{"a":['.repeat(60) + leaf + "]}".repeat(60) + "}",
      );
    expect(endChain(readChat(body("1")))).not.toBe(endChain(readChat(body("2"))));
    expect(endChain(readChat(body("1")))).toBe(endChain(readChat(body("1.0"))));
  });
});

describe("Q32 history on the server", () => {
  it("is flagged, and its response id is no session", () => {
    const request = readOn(
      RESPONSES,
      '{"model":"m","previous_response_id":"resp_1","input":"go on"}',
    );
    expect(request.historyHeld).toBe(true);
    expect(request.previousResponse).not.toBe(0);
    expect(request.session).toBe(0);
  });

  it("of a conversation keeps its session, as text or object", () => {
    const text = readOn(RESPONSES, '{"model":"m","conversation":"conv_1","input":"go on"}');
    const object = readOn(
      RESPONSES,
      '{"model":"m","conversation":{"id":"conv_1"},"input":"go on"}',
    );
    expect(text.historyHeld && object.historyHeld).toBe(true);
    expect(text.session).not.toBe(0);
    expect(object.session).toBe(text.session);
  });

  it("lets the hint of the client decide the turn", () => {
    const reading = new Reading().header("x-agent-turn", "7");
    reading.path = RESPONSES;
    expect(reading.read('{"previous_response_id":"resp_1","input":"go on"}').turn).toBe(7);
    expect(reading.read('{"input":"a first question"}').turn).toBe(1);
    expect(reading.read('{"input":"a first question"}').turnHint).toBe(7);
  });
});

describe("Q38 and Q39 the seeds", () => {
  it("keep tenants apart in every hash, and models in the tag", () => {
    const body = chat(user("q"), ',"session_id":"s"');
    const one = new Reading();
    const other = new Reading();
    other.tenant = 8;
    const a = one.read(body);
    const b = other.read(body);
    expect(endChain(b)).not.toBe(endChain(a));
    expect(b.session).not.toBe(a.session);
    const renamed = one.read(body.replace('"m"', '"n"'));
    expect(endChain(renamed)).toBe(endChain(a));
    expect(renamed.model).not.toBe(a.model);
    expect(renamed.session).not.toBe(a.session);
  });
});

describe("the format of a body", () => {
  it("is chosen by its keys, and the path only hints", () => {
    const items =
      '[{"role":"user","content":[{"type":"input_text","text":"q"}]},{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"o"}]';
    const onChat = readOn(CHAT, '{"input":' + items + "}");
    const onResponses = readOn(RESPONSES, '{"input":' + items + "}");
    expect(onChat.turn).toBe(2);
    expect(onChat.dialect).toBe(onResponses.dialect);
    expect(endChain(onChat)).toBe(endChain(onResponses));
    expect(pathKind(CHAT)).toBe(PathKind.Chat);
  });

  it("with two lists is the one of the path, else the one of the items", () => {
    const messages = '"messages":[' + [user("q"), assistant("a"), user("r")].join(",") + "]";
    expect(readOn(CHAT, '{"input":"x",' + messages + "}").turn).toBe(2);
    expect(readOn(CHAT, "{" + messages + ',"input":"x","prompt":"y"}').turn).toBe(2);
    expect(readOn(RESPONSES, "{" + messages + ',"input":"x"}').turn).toBe(1);
  });
});

function sameRequest(a: Request, b: Request): bool {
  return endChain(a) == endChain(b) && a.head == b.head && a.turn == b.turn;
}

describe("Q26 and Q27 the answer at any time", () => {
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
