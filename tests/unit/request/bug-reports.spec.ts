// SPDX-License-Identifier: Apache-2.0
// Bugs that gateways and agents were reported to have, each as the requests that show it.
import { Reading as Outcome } from "../../../assembly/request/request";
import { PathKind } from "../../../assembly/request/paths";
import { sourceName } from "../../../assembly/request/identity";
import { bytesOf } from "../window";
import {
  assistant,
  chat,
  commonHeadTokens,
  COMPLETIONS,
  deepestShared,
  endChain,
  followsUp,
  MESSAGES,
  NOTHING,
  pathKind,
  readChat,
  Reading,
  readOn,
  system,
  user,
} from "./reading";

const SYSTEM_TEXT = "You are an agent with many rules to follow. ".repeat(200);
const CALL_A =
  '{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}';
const CALL_B =
  '{"role":"assistant","tool_calls":[{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]}';
const RESULT_A = '{"role":"tool","tool_call_id":"a","content":"1"}';
const RESULT_B = '{"role":"tool","tool_call_id":"b","content":"2"}';

function parts(texts: string[]): string {
  const list: string[] = [];
  for (let i = 0; i < texts.length; i++) list.push('{"type":"text","text":"' + texts[i] + '"}');
  return '{"role":"user","content":[' + list.join(",") + "]}";
}

function tools(names: string[]): string {
  const list: string[] = [];
  for (let i = 0; i < names.length; i++) {
    list.push(
      '{"type":"function","function":{"name":"' +
        names[i] +
        '","description":"does something useful"}}',
    );
  }
  return ',"tools":[' + list.join(",") + "]";
}

describe("the head", () => {
  it("is common up to a clock at the end of the system text (pi 1873)", () => {
    const first = readChat(chat(system(SYSTEM_TEXT + "It is 10:00:01.") + "," + user("q")));
    const next = [system(SYSTEM_TEXT + "It is 10:00:07."), user("q"), assistant("a"), user("r")];
    const second = readChat(chat(next.join(",")));
    expect(second.turn).toBe(2);
    expect(followsUp(second, first)).toBe(true);
    expect(second.head).not.toBe(first.head);
  });

  it("in a system key is common in all pieces before the change (pi 1873)", () => {
    const body = (clock: string): string =>
      '{"system":"' + SYSTEM_TEXT + clock + '","messages":[' + user("q") + "]}";
    const first = readOn(MESSAGES, body("10:00:01"));
    const second = readOn(MESSAGES, body("10:00:07"));
    const common = commonHeadTokens(first, second);
    // All of the 8 full KiB of 8.8 are common, and nothing of the last piece.
    expect(common > (first.headTokens * 9) / 10).toBe(true);
    expect(common < first.headTokens).toBe(true);
  });

  it("with tools in another order is common before the first moved one (qwen-code 6338)", () => {
    const history = [user("q"), assistant("a"), user("r")].join(",");
    const first = readChat(chat(user("q"), tools(["b", "x", "y"])));
    const second = readChat(chat(history, tools(["b", "y", "x"])));
    expect(followsUp(second, first)).toBe(true);
    expect(second.head).not.toBe(first.head);
    expect(commonHeadTokens(first, second)).toBe(first.headPieceTokens[0]);
  });

  it("differs when the keys of a schema come in another order (sglang 34553)", () => {
    const schema = (keys: string): string =>
      ',"tools":[{"type":"function","function":{"name":"f","parameters":{' + keys + "}}}]";
    const first = readChat(chat(user("q"), schema('"properties":{},"required":[]')));
    const second = readChat(chat(user("q"), schema('"required":[],"properties":{}')));
    expect(second.head).not.toBe(first.head);
    expect(endChain(second)).toBe(endChain(first));
  });
});

describe("a reminder that moves to the newest user item (claude-code 43657)", () => {
  it("leaves no boundary behind it and no false match", () => {
    const first = readOn(MESSAGES, chat(parts(["A", "B", "text"])));
    const second = readOn(
      MESSAGES,
      chat([parts(["A", "text"]), assistant("a"), parts(["B", "more"])].join(",")),
    );
    expect(second.turn).toBe(2);
    expect(deepestShared(second, first)).toBe(NOTHING);
  });
});

describe("a tail that becomes a list with a marker and a text again (omnara 480)", () => {
  it("is the same item", () => {
    const marked =
      '{"role":"user","content":[{"type":"text","text":"r","cache_control":{"type":"ephemeral"}}]}';
    const first = readOn(MESSAGES, chat([user("q"), assistant("a"), marked].join(",")));
    const second = readOn(
      MESSAGES,
      chat([user("q"), assistant("a"), user("r"), assistant("b"), user("s")].join(",")),
    );
    expect(followsUp(second, first)).toBe(true);
  });
});

describe("results that are pruned in place (eve 175)", () => {
  it("end the prefix at the changed item", () => {
    const first = readChat(chat([user("q"), CALL_A, RESULT_A, CALL_B, RESULT_B].join(",")));
    const pruned = RESULT_A.replace('"1"', '"(pruned)"');
    const second = readChat(
      chat([user("q"), CALL_A, pruned, CALL_B, RESULT_B, assistant("a"), user("r")].join(",")),
    );
    expect(deepestShared(second, first)).toBe(0);
    expect(second.turn).toBe(4);
  });
});

describe("a window that slides over the history (mastra 23667)", () => {
  it("matches nothing and keeps the session by its id", () => {
    const window = (from: i32): string => {
      const items: string[] = [system("s")];
      for (let i = from; i < from + 6; i++)
        items.push(i % 2 == 0 ? user(i.toString()) : assistant(i.toString()));
      return chat(items.join(","));
    };
    const reading = new Reading().header("x-session-id", "s");
    const first = reading.read(window(0));
    const second = reading.read(window(2));
    expect(deepestShared(second, first)).toBe(NOTHING);
    expect(second.session).toBe(first.session);
    expect(second.head).toBe(first.head);
  });
});

describe("arguments that an SDK writes in another order (ai-sdk-provider 472)", () => {
  it("keep the boundary before their run", () => {
    const call = (order: string): string => CALL_A.replace('"{}"', '"{' + order + '}"');
    const first = readChat(
      chat([user("q"), call('\\"city\\":1,\\"unit\\":2'), RESULT_A].join(",")),
    );
    const second = readChat(
      chat(
        [user("q"), call('\\"unit\\":2,\\"city\\":1'), RESULT_A, assistant("a"), user("r")].join(
          ",",
        ),
      ),
    );
    expect(deepestShared(second, first)).toBe(0);
  });
});

describe("items without a plain text (kthena 1416)", () => {
  it("contribute all the same", () => {
    const first = readChat(chat([parts(["a", "b"]), CALL_A, RESULT_A].join(",")));
    const second = readChat(chat([parts(["a", "c"]), CALL_A, RESULT_A].join(",")));
    const third = readChat(chat([parts(["a", "b"]), CALL_B, RESULT_A].join(",")));
    expect(endChain(second)).not.toBe(endChain(first));
    expect(endChain(third)).not.toBe(endChain(first));
    expect(first.turn).toBe(2);
  });
});

describe("prompts of token ids (production-stack 1037)", () => {
  it("are hashed in blocks, and batches are left alone", () => {
    const ids: string[] = [];
    for (let i = 0; i < 200; i++) ids.push(i.toString());
    const one = readOn(COMPLETIONS, '{"prompt":[' + ids.join(",") + "]}");
    expect(one.reading).toBe(Outcome.Prompt);
    expect(one.turn).toBe(0);
    expect(one.promptTokens).toBe(200);
    ids.push("7");
    const longer = readOn(COMPLETIONS, '{"prompt":[' + ids.join(",") + "]}");
    expect(longer.boundaries[2].chain).toBe(one.boundaries[2].chain);
    expect(longer.boundaries[2].prefixTokens).toBe(192);
    expect(endChain(longer)).not.toBe(endChain(one));
    const batches: string[] = [
      '{"prompt":[[1,2],[3]]}',
      '{"prompt":["a","b"]}',
      '{"prompt":[]}',
      '{"prompt":null}',
    ];
    for (let i = 0; i < batches.length; i++) {
      const batch = readOn(COMPLETIONS, batches[i]);
      expect(batch.reading).toBe(Outcome.NotConversation, batches[i]);
      expect(batch.boundaryCount).toBe(0, batches[i]);
    }
  });

  it("have their text counterpart: a longer text shares its blocks", () => {
    const text = "The quick brown fox jumps over the lazy dog. ".repeat(100);
    const first = readOn(COMPLETIONS, '{"prompt":"' + text + '"}');
    const second = readOn(COMPLETIONS, '{"prompt":"' + text + 'And again."}');
    expect(first.boundaryCount).toBe(5);
    expect(second.boundaries[3].chain).toBe(first.boundaries[3].chain);
    expect(second.boundaries[3].prefixBytes).toBe(4096);
  });
});

describe("sessions that share their system text (sglang 26263)", () => {
  it("have boundaries of their own", () => {
    const body = (text: string): string =>
      chat([system("the same for all"), user(text), assistant("a"), user("r")].join(","));
    const first = readChat(body("one"));
    const second = readChat(body("two"));
    expect(second.head).toBe(first.head);
    expect(deepestShared(second, first)).toBe(NOTHING);
  });
});

describe("a compressed body (new-api 4913)", () => {
  it("is no JSON, whatever can be read in it", () => {
    const frame = bytesOf(
      '(\u00b5/\u00fd {"model":"m","messages":[{"role":"user","content":"q"}]}',
    );
    frame[0] = 0x28;
    frame[1] = 0xb5;
    frame[2] = 0x2f;
    frame[3] = 0xfd;
    const request = new Reading().readBytes(frame);
    expect(request.reading).toBe(Outcome.Malformed);
    expect(request.turn).toBe(0);
  });
});

describe("rendering without generation (llm-d-router 1515)", () => {
  it("is left alone", () => {
    expect(pathKind("/v1/chat/completions/render")).toBe(PathKind.Leave);
  });
});

describe("ids", () => {
  it("with hyphens win over those with underscores (pi 4967, codex 21757)", () => {
    const both = new Reading()
      .header("session_id", "old")
      .header("session-id", "new")
      .read(chat(user("q")));
    const hyphen = new Reading().header("session-id", "new").read(chat(user("q")));
    expect(both.session).toBe(hyphen.session);
  });

  it("of single calls are ignored (CLIProxyAPI 3089)", () => {
    const request = new Reading().header("x-client-request-id", "unique").read(chat(user("q")));
    expect(request.session).toBe(0);
    expect(sourceName(request.sessionSource)).toBe("chain");
  });

  it("of threads keep the session over a compaction; a cache key never merges two (opencodex 1297)", () => {
    const more = ',"prompt_cache_key":"product"';
    const one = new Reading().header("thread-id", "t1");
    const before = one.read(chat([user("q"), assistant("a"), user("r")].join(","), more));
    const after = one.read(chat(user("Summary: ..."), more));
    const other = new Reading().header("thread-id", "t2").read(chat(user("q"), more));
    expect(after.session).toBe(before.session);
    expect(deepestShared(after, before)).toBe(NOTHING);
    expect(other.session).not.toBe(before.session);
  });

  it("of sub-agents tell them apart under one session (inference-perf 769)", () => {
    const agent = (id: string): u64 =>
      new Reading()
        .header("x-claude-code-session-id", "s")
        .header("x-claude-code-agent-id", id)
        .read(chat(user(id))).session;
    expect(agent("a")).not.toBe(agent("b"));
  });
});

describe("a preamble of 2,000 characters that an editor injects (billion-context 61)", () => {
  it("does not make two sessions one", () => {
    const preamble = "injected by the editor ".repeat(90);
    const first = readChat(chat([user(preamble + "one"), assistant("a"), user("r")].join(",")));
    const second = readChat(chat([user(preamble + "two"), assistant("a"), user("r")].join(",")));
    expect(deepestShared(second, first)).toBe(NOTHING);
  });
});

describe("a prefill (litellm 28580)", () => {
  it("is turn 1 and lies outside the prefix, in Messages and in chat", () => {
    const items = user("q") + "," + assistant("{");
    const messages = readOn(MESSAGES, chat(items));
    const continued = readChat(
      chat(items, ',"add_generation_prompt":false,"continue_final_message":true'),
    );
    expect(messages.turn).toBe(1);
    expect(continued.turn).toBe(1);
    expect(messages.openRun && continued.openRun).toBe(true);
    expect(messages.lastModelEndByte).toBe(-1);
  });
});

describe("one answer as several items (exo 256)", () => {
  it("is one run", () => {
    const items = [user("q"), assistant("t"), CALL_A, CALL_B, RESULT_A, RESULT_B];
    expect(readChat(chat(items.join(","))).turn).toBe(2);
  });
});

describe("duplicate and escaped keys (GoModel 870)", () => {
  it("let the last one count, flagged", () => {
    const request = readChat('{"model":"a","messages":[' + user("q") + '],"mod\\u0065l":"b"}');
    const single = readChat('{"messages":[' + user("q") + '],"model":"b"}');
    expect(request.ambiguous).toBe(true);
    expect(request.model).toBe(single.model);
  });
});

describe("a Responses body on the chat path (CLIProxyAPI 658)", () => {
  it("is read as what it is", () => {
    const request = readChat(
      '{"model":"m","input":[{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"role":"user","content":"r"}]}',
    );
    expect(request.turn).toBe(2);
  });
});

describe("thoughts that come and go (Crow 60)", () => {
  it("leave the item as it is in all three calls", () => {
    const items = (answer: string): string => [user("q"), answer, user("r")].join(",");
    const bare = endChain(readChat(chat(items(assistant("a")))));
    const thought = '{"role":"assistant","reasoning_content":"because","content":"a"}';
    const detailed = '{"role":"assistant","content":"a","reasoning_details":[{"text":"because"}]}';
    expect(endChain(readChat(chat(items(thought))))).toBe(bare);
    expect(endChain(readChat(chat(items(detailed))))).toBe(bare);
  });
});
