// SPDX-License-Identifier: Apache-2.0
// Who sends a request: which header or field is believed, and which ones never are.
import { HeaderRules } from "../../../assembly/request/header-rules";
import { sourceName } from "../../../assembly/request/identity";
import { Request } from "../../../assembly/request/request";
import { chat, Reading, readChat, user } from "./reading";

const BODY = chat(user("q"));
const RULES = new HeaderRules();

function sourceOf(request: Request): string {
  return sourceName(request.sessionSource, RULES);
}

/** Headers as `name: value`, a body tail, and the source that wins ("chain" for none). */
class Row {
  constructor(
    readonly headers: string[],
    readonly more: string,
    readonly source: string,
  ) {}
}

function readRow(headers: string[], more: string): Request {
  const reading = new Reading();
  for (let i = 0; i < headers.length; i++) {
    const colon = headers[i].indexOf(": ");
    reading.header(headers[i].substring(0, colon), headers[i].substring(colon + 2));
  }
  return reading.read(chat(user("q"), more));
}

const ROWS: Row[] = [
  new Row([], "", "chain"),
  new Row(["x-session-id: s"], "", "x-session-id"),
  new Row(["x-session-id: s"], ',"session_id":"b"', "x-session-id"),
  new Row(["x-session-affinity: a", "x-session-id: s"], "", "x-session-id"),
  new Row(["x-agent-session: a", "x-dynamo-session-id: d"], "", "x-agent-session"),
  new Row(["x-claude-code-session-id: s"], "", "x-claude-code-session-id"),
  new Row(
    ["x-claude-code-session-id: s", "x-claude-code-agent-id: a"],
    "",
    "x-claude-code-agent-id",
  ),
  new Row(["session-id: s", "thread-id: t"], "", "thread-id"),
  new Row(["session_id: s", "session-id: t"], "", "session-id"),
  new Row(["session_id: s"], "", "session_id"),
  new Row(["x-zoo-session-id: z"], "", "x-*-session-id"),
  new Row(["x-opencode-session: o"], "", "x-opencode-session"),
  // Ids of single requests, of users and of cohorts are no sessions.
  new Row(["x-request-id: r", "x-client-request-id: c", "x-correlation-id: k"], "", "chain"),
  new Row(["x-opencode-request: r", "traceparent: t", "x-user-id: u"], "", "chain"),
  new Row(["x-parent-session-id: p"], "", "chain"),
  new Row(["vscode-sessionid: v", "x-session-token: t"], "", "chain"),
  new Row([], ',"prompt_cache_key":"crew","user":"u","safety_identifier":"s"', "chain"),
  new Row([], ',"request_id":"r","metadata":{"trace":"t","promptId":"p"}', "chain"),
  // Fields of the body, in order.
  new Row([], ',"session_id":"b","litellm_session_id":"l"', "body session_id"),
  new Row([], ',"metadata":{"session_id":"m"},"litellm_session_id":"l"', "body litellm_session_id"),
  new Row([], ',"metadata":{"sessionId":"m"}', "body metadata.sessionId"),
  new Row(
    [],
    ',"client_metadata":{"session_id":"s","thread_id":"t"}',
    "body client_metadata.thread_id",
  ),
  new Row([], ',"session_params":{"id":"s"}', "body session_params.id"),
  new Row(
    [],
    ',"nvext":{"session_control":{"session_id":"n"}}',
    "body nvext.session_control.session_id",
  ),
  new Row([], ',"rid":"conv_t1"', "body rid"),
  new Row([], ',"tools":[{"session_id":"x"}],"metadata":{"a":{"session_id":"x"}}', "chain"),
  // Claude Code, the old form and the new one; other clients put a user there.
  new Row([], ',"metadata":{"user_id":"user_ab_account_cd_session_1234"}', "body metadata.user_id"),
  new Row(
    [],
    ',"metadata":{"user_id":"{\\"device_id\\":\\"d\\",\\"session_id\\":\\"s\\"}"}',
    "body metadata.user_id",
  ),
  new Row([], ',"metadata":{"user_id":"someone"}', "chain"),
  // What is no id.
  new Row(["x-session-id:  "], "", "chain"),
  new Row(["x-session-id: a\x01b"], "", "chain"),
  new Row(["x-session-id: " + "a".repeat(257)], "", "chain"),
  new Row(["x-session-id: " + "a".repeat(256)], "", "x-session-id"),
  new Row([], ',"session_id":"a\\u0000b"', "chain"),
  new Row([], ',"session_id":7', "chain"),
  new Row([], ',"session_id":""', "chain"),
];

describe("the source of a session", () => {
  it("is right in every row", () => {
    for (let i = 0; i < ROWS.length; i++) {
      const row = ROWS[i];
      const request = readRow(row.headers, row.more);
      const name = row.headers.join(", ") + row.more;
      expect(sourceOf(request)).toBe(row.source, name);
      expect(request.session == 0).toBe(row.source == "chain", name);
    }
  });

  it("is first of all what the operator names", () => {
    const reading = new Reading().header("x-agent-session", "a").header("x-my-thread", "m");
    reading.rules = new HeaderRules(["x-my-thread", "x-other"]);
    const request = reading.read(BODY);
    expect(sourceName(request.sessionSource, reading.rules)).toBe("x-my-thread");
  });
});

describe("a session key", () => {
  it("is the same for blanks around an id and for both spellings of a header", () => {
    const plain = readRow(["session-id: s"], "").session;
    expect(readRow(["session-id:  s "], "").session).toBe(plain);
    expect(readRow(["session_id: s"], "").session).toBe(plain);
  });

  it("differs for field, id and model", () => {
    const plain = readRow(["x-session-id: s"], "").session;
    expect(readRow(["x-session-id: t"], "").session).not.toBe(plain);
    expect(readRow(["x-session-affinity: s"], "").session).not.toBe(plain);
    expect(readRow([], ',"session_id":"s"').session).not.toBe(plain);
  });

  it("takes the first value of a repeated header", () => {
    const first = readRow(["x-session-id: a"], "").session;
    expect(readRow(["x-session-id: a", "x-session-id: b"], "").session).toBe(first);
  });

  it("leaves out what counts turns and retries in a lineage", () => {
    const stem = readRow([], ',"rid":"conv"').session;
    expect(readRow([], ',"rid":"conv_t1"').session).toBe(stem);
    expect(readRow([], ',"rid":"conv_t2_r1"').session).toBe(stem);
    expect(readRow([], ',"rid":"conv_x2"').session).not.toBe(stem);
  });

  it("of Claude Code is the session in both forms of its user id", () => {
    const old = readRow([], ',"metadata":{"user_id":"user_a_account__session_11-22"}').session;
    const text =
      ',"metadata":{"user_id":"{\\"device_id\\":\\"d\\",\\"account_uuid\\":\\"\\",\\"session_id\\":\\"11-22\\"}"}';
    expect(readRow([], text).session).toBe(old);
  });
});

describe("a program", () => {
  it("joins parent and child", () => {
    const parent = readRow(["x-session-id: p"], "");
    const child = readRow(["x-session-id: c", "x-parent-session-id: p"], "");
    expect(child.program).toBe(parent.program);
    expect(child.session).not.toBe(parent.session);
  });

  it("joins the agents of Claude Code, whose session they share", () => {
    const root = readRow(["x-claude-code-session-id: s"], "");
    const agent = readRow(["x-claude-code-session-id: s", "x-claude-code-agent-id: a"], "");
    expect(agent.program).toBe(root.program);
    expect(agent.session).not.toBe(root.session);
  });

  it("joins parent and child of the agents' contract in header and body", () => {
    const parent = readRow(["x-agent-session: p"], "");
    const child = readRow(["x-agent-session: c", "x-agent-parent: p"], "");
    expect(child.program).toBe(parent.program);
    const told = readRow([], ',"metadata":{"session_id":"p"}');
    const childTold = readRow([], ',"metadata":{"session_id":"c","parent_session_id":"p"}');
    expect(childTold.program).toBe(told.program);
  });

  it("does not depend on the model, as sub-agents use smaller ones", () => {
    const reading = new Reading().header("x-session-id", "s");
    const large = reading.read(BODY);
    const small = reading.read(BODY.replace('"m"', '"n"'));
    expect(small.program).toBe(large.program);
  });
});

function mayName(name: string): bool {
  return RULES.mayName(changetype<usize>(String.UTF8.encode(name)), name.length);
}

describe("a header name", () => {
  it("is looked up where a rule has its length and last letter", () => {
    for (let i = 0; i < RULES.rules.length; i++) {
      const name = RULES.rules[i].name;
      expect(mayName(name)).toBe(true, name);
    }
    expect(mayName("x-another-session-id")).toBe(true);
    expect(mayName("x-" + "long-".repeat(20) + "session-id")).toBe(true);
    expect(mayName("content-length")).toBe(false);
    expect(mayName("user-agent")).toBe(false);
    expect(mayName("")).toBe(false);
  });
});

describe("other headers", () => {
  it("tell turn, end, retries and side requests", () => {
    const request = readRow(
      [
        "x-agent-turn: 12",
        "x-agent-final: true",
        "x-stainless-retry-count: 2",
        "x-openai-subagent: compact",
      ],
      "",
    );
    expect(request.turnHint).toBe(12);
    expect(request.identity.isFinal).toBe(true);
    expect(request.identity.retries).toBe(2);
    expect(request.identity.isSide).toBe(true);
    expect(request.turn).toBe(1);
  });

  it("tell nothing when they are malformed", () => {
    const request = readRow(
      ["x-agent-turn: 1x", "x-agent-final: no", "x-openai-subagent: review"],
      "",
    );
    expect(request.turnHint).toBe(0);
    expect(request.identity.isFinal).toBe(false);
    expect(request.identity.isSide).toBe(false);
  });

  it("and metadata tell the turn as a number or as a text", () => {
    expect(readRow([], ',"metadata":{"turn":5}').turnHint).toBe(5);
    expect(readRow([], ',"metadata":{"turn":"5"}').turnHint).toBe(5);
    expect(readRow([], ',"metadata":{"turn":-1}').turnHint).toBe(0);
    expect(readRow([], ',"metadata":{"turn":"x"}').turnHint).toBe(0);
  });

  it("let a cohort be a cohort", () => {
    const first = readChat(chat(user("q"), ',"prompt_cache_key":"crew"'));
    const second = readChat(chat(user("r"), ',"prompt_cache_key":"crew"'));
    expect(first.cohort).not.toBe(0);
    expect(second.cohort).toBe(first.cohort);
    expect(second.session).toBe(0);
  });
});
