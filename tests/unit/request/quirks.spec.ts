// SPDX-License-Identifier: Apache-2.0
// Bodies as agents and SDKs really send them: nonces, pictures, duplicate keys, odd values, held histories.
import { Reading as Outcome } from "../../../assembly/request/request";
import {
  assistant,
  chat,
  endChain,
  MESSAGES,
  readChat,
  Reading,
  readOn,
  RESPONSES,
  user,
} from "./reading";

describe("the billing nonce of Claude Code", () => {
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

describe("a picture of megabytes", () => {
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

describe("duplicate keys", () => {
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

describe("documents that are broken or odd", () => {
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

describe("history on the server", () => {
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

describe("tenants and models", () => {
  it("are kept apart: tenants in every hash, models in the tag", () => {
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
