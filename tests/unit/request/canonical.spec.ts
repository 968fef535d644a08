// SPDX-License-Identifier: Apache-2.0
// What clients change without changing the prompt changes no hash; what changes the prompt changes one.
import { Request } from "../../../assembly/request/request";
import { chat, endChain, MESSAGES, readChat, readOn, RESPONSES } from "./reading";

class Pair {
  constructor(
    readonly name: string,
    readonly first: string,
    readonly second: string,
  ) {}
}

const CALL =
  '{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\\"a\\":1}"}}]}';
const RESULT = ',{"role":"tool","tool_call_id":"call_1","content":"ok"}';
const ASK = '{"role":"user","content":"hi"},';

/** Items that are the same. */
const SAME: Pair[] = [
  new Pair(
    "keys in another order",
    '{"role":"user","content":"hi"}',
    '{"content":"hi","role":"user"}',
  ),
  new Pair(
    "escapes",
    '{"role":"user","content":"é/\\n\\"x"}',
    '{"role":"user","content":"\\u00e9\\/\\u000a\\u0022x"}',
  ),
  new Pair(
    "escaped keys",
    '{"role":"user","content":"hi"}',
    '{"r\\u006fle":"us\\u0065r","content":"hi"}',
  ),
  new Pair(
    "white space",
    '{"role":"user","content":"hi"}',
    ' { "role" : "user" ,\n"content":\t"hi" } ',
  ),
  new Pair(
    "a text as its only part",
    '{"role":"user","content":"hi"}',
    '{"role":"user","content":[{"type":"text","text":"hi"}]}',
  ),
  new Pair(
    "a bare text in a list",
    '{"role":"user","content":"hi"}',
    '{"role":"user","content":["hi"]}',
  ),
  new Pair(
    "cache markers",
    '{"role":"user","content":"hi"}',
    '{"role":"user","cache_control":{"type":"ephemeral"},"content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}',
  ),
  new Pair(
    "absent, null and empty members",
    '{"role":"user","content":"hi"}',
    '{"role":"user","content":"hi","name":null,"refusal":"","tool_calls":[]}',
  ),
  new Pair(
    "empty parts",
    '{"role":"user","content":"hi"}',
    '{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":""}]}',
  ),
  new Pair(
    "ids of items",
    '{"role":"user","content":"hi"}',
    '{"role":"user","content":"hi","id":"msg_1","status":"completed"}',
  ),
  new Pair("ids of calls", CALL + RESULT, CALL.replace("call_1", "call_x") + RESULT),
  new Pair(
    "numbers",
    '{"role":"user","content":[{"type":"image_url","image_url":{"url":"u","n":1}}]}',
    '{"role":"user","content":[{"type":"image_url","image_url":{"n":1.0,"url":"u"}}]}',
  ),
  new Pair(
    "reasoning",
    ASK + '{"role":"assistant","content":"a"}',
    ASK + '{"role":"assistant","content":"a","reasoning_content":"why","reasoning":"why"}',
  ),
  new Pair(
    "thinking parts",
    ASK + '{"role":"assistant","content":"a"}',
    ASK +
      '{"role":"assistant","content":[{"type":"thinking","thinking":"why","signature":"s"},{"type":"text","text":"a"}]}',
  ),
];

/** Items that are not. */
const DIFFERENT: Pair[] = [
  new Pair("text", '{"role":"user","content":"hi"}', '{"role":"user","content":"ho"}'),
  new Pair("role", '{"role":"user","content":"hi"}', '{"role":"tool","content":"hi"}'),
  new Pair(
    "a text in two parts",
    '{"role":"user","content":"ab"}',
    '{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}',
  ),
  new Pair(
    "order of parts",
    '{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}',
    '{"role":"user","content":[{"type":"text","text":"b"},{"type":"text","text":"a"}]}',
  ),
  new Pair(
    "order of items",
    '{"role":"user","content":"a"},{"role":"user","content":"b"}',
    '{"role":"user","content":"b"},{"role":"user","content":"a"}',
  ),
  new Pair("which call a result answers", CALL + RESULT, CALL + RESULT.replace("call_1", "call_2")),
  new Pair("arguments of a call", CALL, CALL.replace("1}", "2}")),
  new Pair(
    "order of arguments",
    CALL.replace('{\\"a\\":1}', '{\\"a\\":1,\\"b\\":2}'),
    CALL.replace('{\\"a\\":1}', '{\\"b\\":2,\\"a\\":1}'),
  ),
  new Pair(
    "name of a user",
    '{"role":"user","content":"hi","name":"a"}',
    '{"role":"user","content":"hi","name":"b"}',
  ),
  new Pair(
    "picture",
    '{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:a"}}]}',
    '{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:b"}}]}',
  ),
  new Pair("null and calls", '{"role":"assistant","content":null}', CALL),
];

function expectChain(pair: Pair, same: bool): void {
  const first = endChain(readChat(chat(pair.first)));
  const second = endChain(readChat(chat(pair.second)));
  expect(first).not.toBe(0, pair.name);
  expect(first == second).toBe(same, pair.name);
}

function headOf(more: string): u64 {
  return readChat(chat('{"role":"user","content":"hi"}', more)).head;
}

const TOOL =
  '{"type":"function","function":{"name":"f","parameters":{"type":"object","required":["a"]}}}';

describe("a chain", () => {
  it("is the same for what does not change the prompt", () => {
    for (let i = 0; i < SAME.length; i++) expectChain(SAME[i], true);
  });

  it("differs for what does", () => {
    for (let i = 0; i < DIFFERENT.length; i++) expectChain(DIFFERENT[i], false);
  });

  it("does not depend on the keys beside the items", () => {
    const items = '{"role":"user","content":"hi"}';
    const plain = endChain(readChat(chat(items)));
    expect(endChain(readChat(chat(items, ',"tools":[' + TOOL + '],"seed":1')))).toBe(plain);
    expect(endChain(readChat('{"tools":[],"messages":[' + items + "]}"))).toBe(plain);
  });

  it("keeps client ids of Responses and drops those of the model", () => {
    const body = (a: string, b: string): string =>
      '{"input":[{"role":"user","content":"q"},{"type":"function_call","call_id":"' +
      a +
      '","name":"f","arguments":"{}","id":"fc_' +
      a +
      '"},{"type":"function_call_output","call_id":"' +
      b +
      '","output":"ok"}]}';
    const plain = endChain(readOn(RESPONSES, body("1", "1")));
    expect(endChain(readOn(RESPONSES, body("2", "1")))).toBe(plain);
    expect(endChain(readOn(RESPONSES, body("1", "2")))).not.toBe(plain);
  });

  it("takes a text input of Responses for the user's item", () => {
    const text = endChain(readOn(RESPONSES, '{"input":"q"}'));
    const typed =
      '{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]}]}';
    expect(endChain(readOn(RESPONSES, typed))).toBe(text);
  });

  it("drops reasoning items of Responses", () => {
    const call = '{"type":"function_call","call_id":"1","name":"f","arguments":"{}"}';
    const ask = '{"input":[{"role":"user","content":"q"},';
    const bare = readOn(RESPONSES, ask + call + "]}");
    const thought =
      '{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"t"}],"encrypted_content":"x"},';
    const full = readOn(RESPONSES, ask + thought + call + "]}");
    expect(endChain(full)).toBe(endChain(bare));
    expect(full.turn).toBe(bare.turn);
    expect(full.promptBytes).toBe(bare.promptBytes);
  });

  it("tells compactions apart by their sealed content", () => {
    const body = (sealed: string): string =>
      '{"input":[{"type":"compaction","encrypted_content":"' +
      sealed +
      '"},{"role":"user","content":"q"}]}';
    const first = endChain(readOn(RESPONSES, body("a")));
    expect(endChain(readOn(RESPONSES, body("b")))).not.toBe(first);
  });
});

describe("a head", () => {
  it("is the same for escapes, spaces and cache markers", () => {
    const plain = headOf(',"tools":[' + TOOL + "]");
    expect(headOf(',"tools": [ ' + TOOL.replace("object", "\\u006fbject") + " ]")).toBe(plain);
    expect(
      headOf(
        ',"tools":[' +
          TOOL.replace(
            '{"type":"function",',
            '{"type":"function","cache_control":{"type":"ephemeral"},',
          ) +
          "]",
      ),
    ).toBe(plain);
  });

  it("differs for order of tools and of keys in them, which templates print", () => {
    const plain = headOf(',"tools":[' + TOOL + ',{"name":"g"}]');
    expect(headOf(',"tools":[{"name":"g"},' + TOOL + "]")).not.toBe(plain);
    const swapped = TOOL.replace(
      '"type":"object","required":["a"]',
      '"required":["a"],"type":"object"',
    );
    expect(headOf(',"tools":[' + swapped + ',{"name":"g"}]')).not.toBe(plain);
  });

  it("differs for system text, template arguments and reasoning effort", () => {
    const plain = headOf("");
    const other: string[] = [
      ',"chat_template_kwargs":{"enable_thinking":false}',
      ',"reasoning_effort":"high"',
      ',"documents":[{"text":"d"}]',
      ',"system":"s"',
    ];
    for (let i = 0; i < other.length; i++) expect(headOf(other[i])).not.toBe(plain, other[i]);
  });

  it("of Messages is the same for system text and its only block", () => {
    const items = '"messages":[{"role":"user","content":"q"}]';
    const text = readOn(MESSAGES, '{"system":"be brief",' + items + "}");
    const block = readOn(
      MESSAGES,
      "{" +
        items +
        ',"system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}]}',
    );
    expect(block.head).toBe(text.head);
    expect(block.headBytes).toBe(8);
    expect(endChain(block)).toBe(endChain(text));
  });
});

describe("the tag of a model", () => {
  it("differs for model, salt and adapter", () => {
    const tag = (more: string): u64 =>
      modelOf('{"messages":[{"role":"user","content":"q"}]' + more + "}").model;
    const plain = tag(',"model":"a"');
    expect(tag(',"model":"b"')).not.toBe(plain);
    expect(tag(',"model":"a","cache_salt":"s"')).not.toBe(plain);
    expect(tag(',"model":"a","lora_name":"l"')).not.toBe(plain);
    expect(tag(',"model":"a","cache_salt":null')).toBe(plain);
  });

  it("differs without its salt for model and adapter only", () => {
    const ask = (more: string): Request =>
      modelOf('{"messages":[{"role":"user","content":"q"}],"model":"a"' + more + "}");
    const plain = ask("").unsaltedModel;
    expect(plain).toBe(ask("").model);
    expect(ask(',"cache_salt":"s"').unsaltedModel).toBe(plain);
    const adapted = ask(',"lora_name":"l"').unsaltedModel;
    expect(adapted).not.toBe(plain);
    expect(ask(',"lora_name":"l","cache_salt":"s"').unsaltedModel).toBe(adapted);
  });
});

function modelOf(body: string): Request {
  return readChat(body);
}
