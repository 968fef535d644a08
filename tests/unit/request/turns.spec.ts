// SPDX-License-Identifier: Apache-2.0
// The turn of every kind of request, one row each, and the format that its keys choose.
import { PathKind } from "../../../assembly/request/paths";
import {
  assistant,
  CALLS,
  CHAT,
  chat,
  endChain,
  MESSAGES,
  pathKind,
  readOn,
  RESPONSES,
  RESULTS,
  system,
  user,
} from "./reading";

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
    "few-shot examples count as turns, structurally",
    CHAT,
    chat([user("x"), assistant("X"), user("y"), assistant("Y"), user("z")].join(",")),
    3,
  ),
  new Turn(
    "a prefill marked by `prefix` is no run",
    CHAT,
    chat(user("q") + ',{"role":"assistant","content":"{","prefix":true}'),
    1,
    true,
  ),
  new Turn(
    "a prefill marked by `partial` is no run",
    CHAT,
    chat(user("q") + ',{"role":"assistant","content":"{","partial":true}'),
    1,
    true,
  ),
  new Turn(
    "an unmarked plain text at the end may be a prefill",
    MESSAGES,
    chat(user("q") + "," + assistant("{")),
    1,
    true,
  ),
  new Turn(
    "a prefill of Messages after a turn",
    MESSAGES,
    chat([user("q"), assistant("a"), user("r"), assistant("{")].join(",")),
    2,
    true,
  ),
  new Turn("a call at the end is real", CHAT, chat(user("q") + "," + CALLS), 2),
  new Turn(
    "a paused server tool at the end is real",
    MESSAGES,
    chat(
      user("q") +
        ',{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}}]}',
    ),
    2,
  ),
  new Turn(
    "thinking at the end shows a model",
    MESSAGES,
    chat(
      user("q") +
        ',{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"a"}]}',
    ),
    2,
  ),
  new Turn(
    "a refusal at the end is real",
    CHAT,
    chat(user("q") + ',{"role":"assistant","content":null,"refusal":"no"}'),
    2,
  ),
  new Turn(
    "audio at the end is real",
    CHAT,
    chat(user("q") + ',{"role":"assistant","audio":{"id":"audio_1"}}'),
    2,
  ),
  new Turn(
    "Responses knows no prefill",
    RESPONSES,
    '{"input":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}',
    2,
  ),
  new Turn(
    "a continued final message is no run, even with calls",
    CHAT,
    chat(user("q") + "," + CALLS, ',"continue_final_message":true'),
    1,
    true,
  ),
  new Turn(
    "assistant items in a row are one run",
    CHAT,
    chat([user("q"), assistant("a"), assistant("b"), CALLS, RESULTS].join(",")),
    2,
  ),
  new Turn(
    "parallel calls in one item are one run",
    CHAT,
    chat([user("q"), CALLS, RESULTS].join(",")),
    2,
  ),
  new Turn(
    "calls stored one by one are several runs",
    CHAT,
    chat([user("q"), CALLS, RESULTS, CALLS, RESULTS].join(",")),
    3,
  ),
  new Turn(
    "a sub-agent with its own prompt is at its first turn",
    CHAT,
    chat(system("You search.") + "," + user("find x")),
    1,
  ),
  new Turn(
    "after a compaction the turn starts again",
    CHAT,
    chat(system("s") + "," + user("Summary so far: ...")),
    1,
  ),
  new Turn(
    "look-alikes elsewhere do not count",
    CHAT,
    '{"metadata":{"messages":[{"role":"assistant"}]},"prediction":{"content":"{\\"role\\":\\"assistant\\"}"},"response_format":{"json_schema":{"messages":[{"role":"assistant"}]}},"messages":[' +
      user('{"role":"assistant"}') +
      "]}",
    1,
  ),
  new Turn(
    "history on the server is at least the second turn",
    RESPONSES,
    '{"previous_response_id":"resp_1","input":"go on"}',
    2,
  ),
  new Turn("several answers are one turn", CHAT, chat(user("q"), ',"n":4'), 1),
  new Turn("an empty list is no conversation", CHAT, chat(""), 0),
  new Turn("an object is no list", CHAT, '{"messages":{"role":"user"}}', 0),
  new Turn("a text is no list of messages", CHAT, '{"messages":null}', 0),
  new Turn(
    "a missing role is the client's",
    CHAT,
    chat([user("q"), assistant("a"), '{"content":"x"}'].join(",")),
    2,
  ),
  new Turn(
    "an unknown role is the client's",
    CHAT,
    chat([user("q"), assistant("a"), '{"role":"critic","content":"x"}'].join(",")),
    2,
  ),
  new Turn(
    "a null item is skipped",
    CHAT,
    chat([user("q"), "null", assistant("a"), "null", user("r")].join(",")),
    2,
  ),
  new Turn(
    "a system item between runs closes one",
    MESSAGES,
    chat([user("q"), assistant("a"), system("now be brief"), assistant("b"), user("r")].join(",")),
    3,
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
