// SPDX-License-Identifier: Apache-2.0
// Workloads: histories are exact, truths are right, and one seed gives one workload.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ChatBodies } from "../../../lab/replay/bodies/chat-body.ts";
import { demoPlan } from "../../../lab/replay/demo.ts";
import { KnownPrefixes } from "../../../lab/replay/measures/known-prefixes.ts";
import { airlineSource } from "../../../lab/replay/workloads/airline.ts";
import { madeUpApps } from "../../../lab/replay/workloads/apps.ts";
import { codingSource, type TraceSession } from "../../../lab/replay/workloads/coding-agent.ts";
import { workloadNamed } from "../../../lab/replay/workloads/named.ts";
import {
  itemsOf,
  promptTokensOf,
  type Session,
  sharedItem,
  takeSessions,
} from "../../../lab/replay/workloads/session.ts";

interface Message {
  role: string;
  tool_calls?: { id: string }[];
  tool_call_id?: string;
}

const bodies = new ChatBodies({ model: "model", bytesPerToken: 4, synthetic: false });

function messagesOf(session: Session, call: number): Message[] {
  const body = JSON.parse(bodies.body(session, session.calls[call]!)) as { messages: Message[] };
  return body.messages;
}

/** Runs of assistant messages, counted on the body itself. */
function runsOf(messages: readonly Message[]): number {
  return messages.filter(
    (message, index) => message.role === "assistant" && messages[index - 1]?.role !== "assistant",
  ).length;
}

function assertHistories(session: Session): void {
  session.calls.forEach((call, index) => {
    const messages = messagesOf(session, index);
    assert.equal(call.turn, runsOf(messages) + 1);
    assert.notEqual(messages.at(-1)?.role, "assistant");
    const next = session.calls[index + 1];
    if (next === undefined || next.turn === 1) return;
    assert.equal(next.turn, call.turn + 1);
  });
}

function codingOptions(seed: number) {
  return {
    seed,
    starts: "genuine" as const,
    apps: madeUpApps(2, 1000),
    tokenScale: 0.1,
    contextCapTokens: 20_000,
    callCap: 30,
    gapCapMs: 60_000,
    weightExponent: 0,
  };
}

describe("airline workload", () => {
  const sessions = takeSessions(airlineSource({ seed: 1, gapCapMs: 60_000 }), 120);

  it("asks for every assistant message with the messages before it", () => {
    const total = sessions.reduce((sum, session) => sum + session.calls.length, 0);
    assert.equal(total, 1398);
    for (const session of sessions) assertHistories(session);
  });

  it("continues each history with the forced answer", () => {
    for (const { calls } of sessions) {
      for (let i = 1; i < calls.length; i++) {
        assert.equal(sharedItem(calls[i - 1]!.answer, calls[i]!.tip), calls[i - 1]!.answer);
      }
    }
  });

  it("describes all fourteen tools that the conversations call", () => {
    assert.equal(sessions[0]!.app.tools.length, 14);
  });
});

describe("coding-agent workload", () => {
  it("takes the true turn from the chain of matches and restarts it where the prefix breaks", () => {
    const trace: TraceSession[] = [
      {
        id: "t",
        block: 64,
        tool_tokens: 1000,
        system_tokens: 0,
        reqs: [
          [0, 2000, 100, 1, 0, "tool_use", -1, 0],
          [10, 2500, 100, 1, 5, "end_turn", 0, 31],
          [20, 3000, 100, 1, 5, "tool_use", 1, 39],
          [30, 1500, 100, 1, 5, "end_turn", 2, 15],
          [40, 1700, 100, 1, 5, "end_turn", 3, 23],
        ],
      },
    ];
    const session = codingSource({ ...codingOptions(1), tokenScale: 1 }, trace).at(0);
    assert.deepEqual(
      session.calls.map((call) => call.turn),
      [1, 2, 3, 1, 2],
    );
    assert.deepEqual(
      session.calls.map((call) => call.tip.totalTokens),
      [1000, 1500, 2000, 500, 700],
    );
    assert.deepEqual(
      session.calls.map((call) => call.tip.role),
      ["user", "tool", "user", "user", "user"],
    );
    assertHistories(session);
  });

  it("rewrites what lies behind an edit and keeps what lies before it", () => {
    const trace: TraceSession[] = [
      {
        id: "t",
        block: 64,
        tool_tokens: 64,
        system_tokens: 0,
        reqs: [
          [0, 1280, 100, 1, 0, "tool_use", -1, 0],
          [10, 1920, 100, 1, 5, "tool_use", 0, 20],
          [20, 2560, 100, 1, 5, "tool_use", 1, 20],
        ],
      },
    ];
    const { calls } = codingSource({ ...codingOptions(1), tokenScale: 1 }, trace).at(0);
    const shared = sharedItem(calls[1]!.answer, calls[2]!.tip);
    assert.equal(shared, calls[0]!.tip);
    assert.equal(calls[2]!.turn, 3);
    assert.equal(calls[2]!.tip.totalTokens, 2560 - 64);
  });

  it("links every tool result to the call that it answers", () => {
    const session = codingSource(codingOptions(3)).at(0);
    const messages = messagesOf(session, session.calls.length - 1);
    messages.forEach((message, index) => {
      if (message.role !== "tool") return;
      assert.equal(message.tool_call_id, messages[index - 1]?.tool_calls?.[0]?.id);
    });
    for (const each of takeSessions(codingSource(codingOptions(3)), 10)) assertHistories(each);
  });

  it("is the same for the same seed and another one for another", () => {
    const text = (seed: number): string => {
      const session = codingSource(codingOptions(seed)).at(2);
      return bodies.body(session, session.calls.at(-1)!);
    };
    assert.equal(text(5), text(5));
    assert.notEqual(text(5), text(6));
  });
});

describe("the plan of npm start", () => {
  const { arrivals } = demoPlan({ endpoints: 4, sessions: 64, seed: 1 });
  const coding = arrivals.filter(({ session }) => session.app.name !== "airline");

  it("has bodies of 20 to 250 KB in its coding sessions", () => {
    const sizes = coding
      .slice(0, 12)
      .flatMap(({ session }) => session.calls.map((call) => bodies.body(session, call).length));
    assert.ok(Math.min(...sizes) >= 20_000, `smallest ${Math.min(...sizes)}`);
    assert.ok(Math.max(...sizes) <= 250_000, `largest ${Math.max(...sizes)}`);
  });

  it("gives every item of every session a text of its own", () => {
    const keys = arrivals.flatMap(({ session }) =>
      itemsOf(session.calls.at(-1)!.answer).map((item) => item.key),
    );
    assert.equal(new Set(keys).size, keys.length);
  });
});

describe("the coding-agent workload of replays", () => {
  const sessions = takeSessions(
    workloadNamed("coding-agent", { seed: 1, tokenScale: 1, starts: "genuine" }),
    300,
  );

  it("can reuse more than 0.95 of its prompt tokens, as the trace itself can", () => {
    const known = new KnownPrefixes(16, (session) => session.app.headTokens);
    let prompt = 0;
    let possible = 0;
    for (const session of sessions) {
      for (const call of session.calls) {
        const tokens = promptTokensOf(session, call);
        prompt += tokens;
        possible += known.find(session, call);
        known.learn(session, call, tokens, call.answer.tokens);
      }
    }
    assert.ok(possible / prompt > 0.95, `${possible / prompt}`);
  });

  it("has a heavy tail: a quarter of the sessions holds 80 % of the tokens or about that", () => {
    const tokens = sessions
      .map((session) => session.calls.reduce((sum, call) => sum + promptTokensOf(session, call), 0))
      .sort((a, b) => b - a);
    const total = tokens.reduce((sum, each) => sum + each, 0);
    const top = tokens.slice(0, tokens.length / 4).reduce((sum, each) => sum + each, 0);
    assert.ok(top / total > 0.75, `${top / total}`);
  });

  it("counts genuine and resumed starts, and says so", () => {
    const { notes } = workloadNamed("coding-agent", { seed: 1, tokenScale: 1, starts: "resumed" });
    assert.match(notes[0]!, /228 genuine and 178 resumed starts/);
  });
});
