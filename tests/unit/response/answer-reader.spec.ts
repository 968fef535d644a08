// SPDX-License-Identifier: Apache-2.0
// Answers of all dialects, streamed and not, in the forms in which engines send them.
import { hashName } from "../../../assembly/hash/text";
import { Dialect } from "../../../assembly/request/request";
import { AnswerKind } from "../../../assembly/response/answer-kind";
import { nextFreeBlocks } from "../allocations";
import { read, readBy, reader } from "./feeding";

const STREAM = AnswerKind.EventStream;
const JSON = AnswerKind.Json;

/** Data lines of a stream, each an event, the last one [DONE]. */
function stream(events: string[]): string {
  return "data: " + events.join("\n\ndata: ") + "\n\ndata: [DONE]\n\n";
}

function chatChunk(rest: string): string {
  return (
    '{"id":"chatcmpl-7","object":"chat.completion.chunk","created":1,"model":"m",' + rest + "}"
  );
}

function chatDelta(delta: string, finish: string): string {
  return chatChunk(
    '"choices":[{"index":0,"delta":{' +
      delta +
      '},"logprobs":null,"finish_reason":' +
      finish +
      "}]",
  );
}

const CHAT_USAGE = chatChunk(
  '"choices":[],"usage":{"prompt_tokens":1200,"total_tokens":1242,"completion_tokens":42,' +
    '"prompt_tokens_details":{"cached_tokens":1168}}',
);

describe("chat completions, streamed", () => {
  it("tell finish, usage and cached tokens at the end", () => {
    const body = stream([
      chatDelta('"role":"assistant","content":""', "null"),
      chatDelta('"content":"Hello"', "null"),
      chatDelta('"content":" \\u00e9\\n"', "null"),
      chatDelta("", '"stop","stop_reason":null'),
      CHAT_USAGE,
    ]);
    expect(read(Dialect.Chat, STREAM, body)).toBe(
      "byte token complete finish=1 usage=1200/1168/42 id",
    );
    expect(reader.outcome.responseId).toBe(hashName("chatcmpl-7"));
  });

  it("read the same under any spacing and any line ends", () => {
    const body =
      ": comment\r\nretry: 10\r\nid: 4\r\n\r\n" +
      'data:{"id" : "x", "choices": [ {"delta": {}, "finish_reason" :\t"tool_calls" } ] }\r\n\r\n' +
      'data: {"id": "x", "usage" : {"prompt_tokens" : 9, "completion_tokens": 2.0e0}}\r\n\r\n' +
      "data: [DONE]\r\n\r\n";
    expect(read(Dialect.Chat, STREAM, body)).toBe("byte token complete finish=2 usage=9/-1/2 id");
    expect(read(Dialect.Chat, STREAM, body.replaceAll("\r\n", "\r"))).toBe(
      "byte token complete finish=2 usage=9/-1/2 id",
    );
  });

  it("join data lines of one event", () => {
    const body =
      'data: {"id":"x","usage":\ndata: {"prompt_tokens":7,\ndata:"completion_tokens":3}}\n\n' +
      "data: [DONE]\n\n";
    expect(read(Dialect.Chat, STREAM, body)).toBe("byte token complete finish=0 usage=7/-1/3 id");
  });

  it("are unknown without usage, and cut without [DONE]", () => {
    const body =
      "data: " +
      chatDelta('"content":"a"', "null") +
      "\n\ndata: " +
      chatDelta("", '"length"') +
      "\n\n";
    expect(read(Dialect.Chat, STREAM, body)).toBe("byte token cut finish=3 none=-1/-1/-1 id");
  });

  it("count a last event without its empty line, unless it is cut", () => {
    const body = "data: " + chatDelta('"content":"a"', "null") + "\n\ndata: " + CHAT_USAGE;
    expect(read(Dialect.Chat, STREAM, body)).toBe("byte token cut finish=0 usage=1200/1168/42 id");
  });

  it("do not fall for usage and reasons inside generated text", () => {
    const body = stream([
      chatDelta('"content":"\\"usage\\":{\\"prompt_tokens\\":5}"', "null"),
      chatDelta('"content":"x","usage":{"prompt_tokens":6},"finish_reason":"length"', "null"),
      chatDelta('"content":"data: {\\"usage\\":{}}\\n\\ndata: [DONE]"', "null"),
      chatDelta("", '"stop"'),
    ]);
    expect(read(Dialect.Chat, STREAM, body)).toBe("byte token complete finish=1 none=-1/-1/-1 id");
  });

  it("take continuous usage for what it is at the end", () => {
    const body = stream([
      chatChunk(
        '"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":5,"completion_tokens":1}',
      ),
      chatChunk(
        '"choices":[{"delta":{"content":"b"}}],"usage":{"prompt_tokens":5,"completion_tokens":2}',
      ),
    ]);
    expect(read(Dialect.Chat, STREAM, body)).toBe("byte token complete finish=0 usage=5/-1/2 id");
  });
});

describe("chat completions, not streamed", () => {
  it("tell everything at once, and no moment of the first token", () => {
    const body =
      '{"id":"chatcmpl-1","object":"chat.completion","choices":[{"index":0,"message":{"role":' +
      '"assistant","content":"{\\"usage\\":1}","tool_calls":[{"id":"call_1","function":{"name":' +
      '"usage","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":100,' +
      '"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":96,' +
      '"audio_tokens":0}},"service_tier":null}';
    expect(read(Dialect.Chat, JSON, body)).toBe("byte - complete finish=2 usage=100/96/20 id");
  });

  it("know DeepSeek's name for cached tokens", () => {
    const body =
      '{"id":"c","usage":{"prompt_tokens":100,"completion_tokens":2,"prompt_cache_hit_tokens":64,' +
      '"prompt_cache_miss_tokens":36}}';
    expect(read(Dialect.Chat, JSON, body)).toBe("byte - complete finish=0 usage=100/64/2 id");
  });

  it("keep what a cut answer has told, but are not complete", () => {
    const body = '{"id":"c","choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":100';
    expect(read(Dialect.Chat, JSON, body)).toBe("byte - cut finish=1 usage=-1/-1/-1 id");
  });

  it("survive an engine that reports nonsense", () => {
    const body =
      '{"usage":{"prompt_tokens":-5,"completion_tokens":1e300,"prompt_tokens_details":' +
      '{"cached_tokens":"many"}}}';
    expect(read(Dialect.Chat, JSON, body)).toBe("byte - complete finish=0 usage=-1/-1/-1 -");
  });
});

describe("completions", () => {
  it("are read like chat, by their text chunks", () => {
    const head = '{"id":"cmpl-1","object":"text_completion","choices":[{"index":0,"text":"';
    const body = stream([
      head + 'a","finish_reason":null}],"usage":null}',
      head + '","finish_reason":"length"}],"usage":null}',
      '{"id":"cmpl-1","choices":[],"usage":{"prompt_tokens":8,"completion_tokens":16}}',
    ]);
    expect(read(Dialect.Completions, STREAM, body)).toBe(
      "byte token complete finish=3 usage=8/-1/16 id",
    );
  });
});

const RESPONSES_END =
  '"output":[{"type":"reasoning","summary":[]},{"id":"fc_1","type":"function_call","name":"usage",' +
  '"arguments":"{\\"usage\\":{}}"}],"tools":[{"type":"function","parameters":{"properties":' +
  '{"usage":{"prompt_tokens":1},"status":"failed","id":"no"}}}],"metadata":{"status":"failed"},' +
  '"usage":{"input_tokens":300,"input_tokens_details":{"cached_tokens":256},"output_tokens":31,' +
  '"output_tokens_details":{"reasoning_tokens":12},"total_tokens":331}';

describe("Responses", () => {
  it("not streamed tell usage and whether a tool is awaited", () => {
    const body = '{"id":"resp_1","object":"response","status":"completed",' + RESPONSES_END + "}";
    expect(read(Dialect.Responses, JSON, body)).toBe(
      "byte - complete finish=2 usage=300/256/31 id",
    );
    expect(reader.outcome.responseId).toBe(hashName("resp_1"));
  });

  it("streamed do so in their last event; the first token is the first delta", () => {
    const created =
      'event: response.created\ndata: {"type":"response.created","response":{"id":"resp_2",' +
      '"status":"in_progress","usage":null}}\n\n';
    expect(readBy(Dialect.Responses, STREAM, created, 0)).toBe(
      "byte - cut finish=0 none=-1/-1/-1 id",
    );
    const body =
      created +
      'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"x"}\n\n' +
      'event: response.output_text.done\ndata: {"type":"response.output_text.done","text":"x"}\n\n' +
      'event: response.completed\ndata: {"type":"response.completed","response":{"id":"resp_2",' +
      '"status":"completed",' +
      RESPONSES_END +
      "}}\n\n";
    expect(read(Dialect.Responses, STREAM, body)).toBe(
      "byte token complete finish=2 usage=300/256/31 id",
    );
    expect(reader.outcome.responseId).toBe(hashName("resp_2"));
  });

  it("name an incomplete and a failed end", () => {
    const incomplete =
      '{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}';
    expect(read(Dialect.Responses, JSON, incomplete)).toBe(
      "byte - complete finish=3 none=-1/-1/-1 -",
    );
    const failed =
      'event: response.failed\ndata: {"type":"response.failed","response":{"status":"failed"}}\n\n';
    expect(read(Dialect.Responses, STREAM, failed)).toBe(
      "byte - complete finish=4 none=-1/-1/-1 -",
    );
  });

  it("need no event lines", () => {
    const body =
      'data: {"type":"response.created","response":{"id":"r"}}\n\n' +
      'data: {"delta":"x","type":"response.custom_tool_call_input.delta"}\n\n' +
      'data: {"response":{"id":"r","status":"completed","output":[]},"type":"response.completed"}\n\n';
    expect(read(Dialect.Responses, STREAM, body)).toBe(
      "byte token complete finish=1 none=-1/-1/-1 id",
    );
  });
});

const MESSAGE_START =
  'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message",' +
  '"role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":12,' +
  '"cache_creation_input_tokens":100,"cache_read_input_tokens":900,"output_tokens":1}}}\n\n';
const MESSAGE_REST =
  'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":' +
  '{"type":"tool_use","id":"toolu_1","name":"x","input":{}}}\n\n' +
  'event: ping\ndata: {"type": "ping"}\n\n' +
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":' +
  '{"type":"input_json_delta","partial_json":"{\\"stop_reason\\":\\"x\\"}"}}\n\n' +
  'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n';
const MESSAGE_END = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';

describe("Messages", () => {
  it("not streamed count what was cached as part of the prompt", () => {
    const body =
      '{"id":"msg_2","type":"message","content":[{"type":"tool_use","input":{"usage":' +
      '{"input_tokens":5},"stop_reason":"max_tokens"}}],"stop_reason":"end_turn","stop_sequence":' +
      'null,"usage":{"input_tokens":12,"cache_read_input_tokens":900,"output_tokens":77}}';
    expect(read(Dialect.Messages, JSON, body)).toBe("byte - complete finish=1 usage=912/900/77 id");
  });

  it("streamed tell the prompt first and the rest last", () => {
    expect(readBy(Dialect.Messages, STREAM, MESSAGE_START, 0)).toBe(
      "byte - cut finish=0 usage=1012/900/1 id",
    );
    const body =
      MESSAGE_START +
      MESSAGE_REST +
      'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"tool_use",' +
      '"stop_sequence":null},"usage":{"output_tokens":55}}\n\n' +
      MESSAGE_END;
    expect(read(Dialect.Messages, STREAM, body)).toBe(
      "byte token complete finish=2 usage=1012/900/55 id",
    );
  });

  it("may repeat the input at the end without what was cached", () => {
    const body =
      MESSAGE_START +
      MESSAGE_REST +
      'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"max_tokens"},' +
      '"usage":{"input_tokens":12,"output_tokens":8192}}\n\n' +
      MESSAGE_END;
    expect(read(Dialect.Messages, STREAM, body)).toBe(
      "byte token complete finish=3 usage=1012/900/8192 id",
    );
  });
});

describe("what is no answer", () => {
  it("is unknown when compressed or of another type", () => {
    expect(read(Dialect.Chat, AnswerKind.Unknown, stream([CHAT_USAGE]))).toBe(
      "byte - cut finish=0 none=-1/-1/-1 -",
    );
  });

  it("tells nothing when malformed", () => {
    expect(read(Dialect.Chat, JSON, '{"id":')).toBe("byte - cut finish=0 none=-1/-1/-1 -");
    expect(read(Dialect.Chat, JSON, "upstream error")).toBe("byte - cut finish=0 none=-1/-1/-1 -");
    expect(read(Dialect.Chat, STREAM, "data: {{{\n\ndata: {]\n\n\n\n\ndata\n\ndata:\n\n")).toBe(
      "byte token cut finish=0 none=-1/-1/-1 -",
    );
    expect(read(Dialect.Chat, STREAM, "")).toBe("- - cut finish=0 none=-1/-1/-1 -");
  });

  it("leaves the next answer alone", () => {
    readBy(Dialect.Chat, STREAM, 'data: {"usage":{"prompt_tokens":5', 4);
    expect(read(Dialect.Chat, STREAM, stream([CHAT_USAGE]))).toBe(
      "byte token complete finish=0 usage=1200/1168/42 id",
    );
  });
});

describe("a stream of events", () => {
  it("costs no allocation a chunk, however it is cut", () => {
    const bytes = String.UTF8.encode(
      stream([chatDelta('"content":"Hello"', "null"), chatDelta("", '"stop"'), CHAT_USAGE]),
    );
    for (let round = 0; round < 2; round++) {
      reader.reset(Dialect.Chat, STREAM);
      const before = nextFreeBlocks();
      for (let at = 0; at < bytes.byteLength;) {
        const step = min(bytes.byteLength - at, 1 + (at % 100));
        reader.feed(changetype<usize>(bytes) + <usize>at, step);
        at += step;
      }
      reader.finish();
      if (round > 0) expect(nextFreeBlocks()).toBe(before);
    }
    expect(reader.outcome.complete).toBe(true);
  });
});
