// SPDX-License-Identifier: Apache-2.0
// Bodies of any size and framing, the recorder's hashes, faults, and what operators ask for.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { request } from "node:http";
import { connect } from "node:net";
import { test } from "node:test";
import { type MockGpu } from "../../../../lab/mock-gpu/http/server.ts";
import { eventData, type Json, longText, post, send, user, withGpu } from "./client.ts";

const CHAT = "/v1/chat/completions";

function chatBody(fields: Json = {}): Json {
  return { model: "mock", messages: [user("hello")], max_tokens: 4, ...fields };
}

test("the recorder holds the hashes of what was received and sent", async () => {
  await withGpu({}, async (gpu) => {
    for (const stream of [false, true]) {
      const body = JSON.stringify(chatBody({ stream, unknown_field: { priority: 1 } }));
      const reply = await send(gpu, "POST", CHAT, [body], { "x-tenant": "a" });
      const record = gpu.recorder.requests.at(-1);
      assert.equal(record?.body_sha256, createHash("sha256").update(body).digest("hex"));
      assert.equal(record?.response_sha256, reply.sha256);
      assert.equal(record?.response_bytes, Buffer.byteLength(reply.text));
      assert.equal(record?.headers["x-tenant"], "a");
      assert.equal(record?.outcome, "complete");
      assert.equal(record?.endpoint, gpu.address);
      assert.equal(reply.headers["x-mock-endpoint"], gpu.address);
    }
  });
});

test("a body of more than 6 MB arrives whole", async () => {
  await withGpu({ kvTokens: 4_000_000, speedup: 2000 }, async (gpu) => {
    const body = JSON.stringify(chatBody({ messages: [user("long text ".repeat(650_000))] }));
    assert.ok(body.length > 6_000_000);
    const reply = await send(gpu, "POST", CHAT, [body]);
    assert.equal(reply.status, 200);
    assert.equal(gpu.recorder.requests[0]?.body_bytes, body.length);
  });
});

test("chunked bodies, single bytes, Expect: 100-continue and trailers are accepted", async () => {
  await withGpu({}, async (gpu) => {
    const body = JSON.stringify(chatBody());
    assert.equal((await send(gpu, "POST", CHAT, [...body])).status, 200);
    const waited = await new Promise<boolean>((resolve, reject) => {
      const headers = { expect: "100-continue", "content-length": String(body.length) };
      const outgoing = request({ port: gpu.port, method: "POST", path: CHAT, headers });
      outgoing.on("continue", () => outgoing.end(body));
      outgoing.on("response", (incoming) => incoming.resume().on("end", () => resolve(true)));
      outgoing.on("error", reject);
      outgoing.flushHeaders();
    });
    assert.ok(waited);
    await new Promise<void>((resolve, reject) => {
      const headers = { trailer: "x-check" };
      const outgoing = request({ port: gpu.port, method: "POST", path: CHAT, headers });
      outgoing.on("response", (incoming) => incoming.resume().on("end", resolve));
      outgoing.on("error", reject);
      outgoing.addTrailers({ "x-check": "sum" });
      outgoing.end(body);
    });
    assert.equal(gpu.recorder.requests.at(-1)?.trailers["x-check"], "sum");
    const hashes = new Set(gpu.recorder.requests.map(({ body_sha256 }) => body_sha256));
    assert.equal(hashes.size, 1);
  });
});

test("one connection carries many requests, pipelined as well", async () => {
  await withGpu({}, async (gpu) => {
    const body = JSON.stringify(chatBody());
    const head = `POST ${CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n`;
    const text = await new Promise<string>((resolve, reject) => {
      const socket = connect(gpu.port, "127.0.0.1");
      let received = "";
      socket.on("data", (chunk) => {
        received += chunk.toString();
        if (received.split("HTTP/1.1 200").length === 4) socket.destroy();
      });
      socket.on("error", reject);
      socket.on("close", () => resolve(received));
      socket.write(head + body + head + body + head + body);
    });
    assert.equal(text.split('"finish_reason":"length"').length, 4);
  });
});

test("broken bodies get vLLM's error and leave the server well", async () => {
  await withGpu({}, async (gpu) => {
    for (const body of ["", "{", "[]", "null", '{"messages":1}', '{"messages":["x"]}', "\u00ff"]) {
      const reply = await send(gpu, "POST", CHAT, [body]);
      assert.equal(reply.status, 400, body);
      const error = reply.json["error"] as Json;
      assert.equal(error["code"], 400);
      assert.equal(error["type"], "BadRequestError");
    }
    const tooLong = chatBody({ messages: [user(longText(2_000, 1))] });
    assert.equal((await post(gpu, CHAT, { ...tooLong, max_tokens: 600_000 })).status, 200);
    assert.equal((await send(gpu, "GET", "/nowhere")).status, 404);
    assert.equal((await post(gpu, CHAT, chatBody())).status, 200);
  });
});

test("a prompt beyond the model's length is a 400 that says so", async () => {
  await withGpu({ maxModelTokens: 100 }, async (gpu) => {
    const reply = await post(gpu, CHAT, chatBody({ messages: [user(longText(300, 1))] }));
    assert.equal(reply.status, 400);
    assert.match(reply.text, /maximum context length is 100 tokens/);
  });
});

test("a client that leaves frees its place", async () => {
  await withGpu({ speedup: 1 }, async (gpu) => {
    const body = JSON.stringify(chatBody({ max_tokens: 5000, ignore_eos: true, stream: true }));
    await new Promise<void>((resolve, reject) => {
      const outgoing = request({ port: gpu.port, method: "POST", path: CHAT }, (incoming) => {
        incoming.once("data", () => outgoing.destroy());
        incoming.on("error", () => undefined);
        incoming.on("close", resolve);
      });
      outgoing.on("error", reject);
      outgoing.end(body);
    });
    await until(() => gpu.engine.counters.aborted === 1);
    assert.equal(gpu.engine.running, 0);
    assert.equal(gpu.recorder.requests[0]?.outcome, "client_abort");
  });
});

test("statuses, stalls and resets happen on demand, for one request or for the next few", async () => {
  await withGpu({}, async (gpu) => {
    const stream = chatBody({ stream: true, max_tokens: 50_000, ignore_eos: true });
    const fault = (plan: string): Record<string, string> => ({ "x-mock-fault": plan });
    assert.equal((await post(gpu, CHAT, chatBody(), fault("status=429"))).status, 429);
    assert.equal((await post(gpu, CHAT, chatBody())).status, 200);
    await assert.rejects(post(gpu, CHAT, stream, fault("reset-after=3")), /aborted|ECONNRESET/);
    assert.equal(gpu.recorder.requests.at(-1)?.outcome, "reset");
    await until(() => gpu.engine.running === 0);

    gpu.faults.set({ status: 503, requests: 2 });
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await post(gpu, CHAT, chatBody())).status);
    assert.deepEqual(statuses, [503, 503, 200]);

    await post(gpu, "/debug/faults", { health_fails: true, metrics_absent: true });
    assert.equal((await send(gpu, "GET", "/health")).status, 503);
    assert.equal((await send(gpu, "GET", "/metrics")).status, 404);
    await post(gpu, "/debug/faults", {});
    assert.equal((await send(gpu, "GET", "/health")).status, 200);
  });
});

test("a stalled stream stays open without another byte", async () => {
  await withGpu({}, async (gpu) => {
    const outgoing = request({
      port: gpu.port,
      method: "POST",
      path: CHAT,
      headers: { "x-mock-fault": "stall-after=2" },
    });
    let received = "";
    const ended = new Promise<void>((resolve) => {
      outgoing.on("response", (incoming) => {
        incoming.on("data", (chunk: Buffer) => (received += chunk.toString()));
        incoming.on("error", () => undefined);
        incoming.on("close", resolve);
      });
    });
    outgoing.on("error", () => undefined);
    outgoing.end(JSON.stringify(chatBody({ stream: true, max_tokens: 20 })));
    await until(() => gpu.engine.counters.done === 1 && received.length > 0);
    assert.ok(!received.includes("[DONE]"));
    assert.equal(gpu.recorder.requests[0]?.outcome, "open");
    outgoing.destroy();
    await ended;
  });
});

test("a GPU that dies cuts its connections, refuses new ones, and comes back empty", async () => {
  await withGpu({}, async (gpu) => {
    const body = chatBody({ messages: [user(longText(100, 1))] });
    await post(gpu, CHAT, body);
    const { port } = gpu;
    await gpu.die();
    await assert.rejects(post(gpu, CHAT, body), /ECONNREFUSED/);
    await gpu.revive();
    assert.equal(gpu.port, port);
    assert.equal((await post(gpu, CHAT, body)).status, 200);
    assert.equal(gpu.recorder.requests.at(-1)?.cached_tokens, 0);
  });
});

test("a slow start is unhealthy and refuses work until it is over", async () => {
  await withGpu({ startDelayMs: 150 }, async (gpu) => {
    assert.equal((await send(gpu, "GET", "/health")).status, 503);
    assert.equal((await post(gpu, CHAT, chatBody())).status, 503);
    await until(async () => (await send(gpu, "GET", "/health")).status === 200);
    assert.equal((await post(gpu, CHAT, chatBody())).status, 200);
  });
});

test("models, load, version and tokenize answer", async () => {
  await withGpu({}, async (gpu) => {
    const models = (await send(gpu, "GET", "/v1/models")).json["data"] as Json[];
    assert.equal(models[0]?.["id"], "mock");
    assert.deepEqual((await send(gpu, "GET", "/load")).json, { server_load: 0 });
    assert.equal((await send(gpu, "GET", "/version")).status, 200);
    const chat = chatBody();
    const counted = (await post(gpu, "/tokenize", chat)).json["count"];
    const usage = (await post(gpu, CHAT, chat)).json["usage"] as Json;
    assert.equal(counted, usage["prompt_tokens"]);
  });
});

test("metrics have vLLM's names and count what happened", async () => {
  await withGpu({}, async (gpu) => {
    const body = chatBody({ messages: [user(longText(100, 1))] });
    await post(gpu, CHAT, body);
    await post(gpu, CHAT, body);
    const { text } = await send(gpu, "GET", "/metrics");
    assert.equal(metric(text, "vllm:num_requests_running"), 0);
    assert.equal(
      metric(text, "vllm:prefix_cache_queries_total"),
      gpu.engine.counters.queriedTokens,
    );
    assert.equal(metric(text, "vllm:prefix_cache_hits_total"), gpu.engine.counters.hitTokens);
    assert.equal(metric(text, "vllm:generation_tokens_total"), 8);
    assert.equal(metric(text, "vllm:time_to_first_token_seconds_count"), 2);
    assert.match(text, /vllm:request_success_total\{finished_reason="length",.*\} 2/);
    assert.match(text, /vllm:cache_config_info\{block_size="16",num_gpu_blocks="29206"/);
  });
});

test("ORCA load comes in the response headers, in the form that was asked for", async () => {
  await withGpu({}, async (gpu) => {
    const ask = (format: string): Promise<Json> =>
      post(gpu, CHAT, chatBody(), { "endpoint-load-metrics-format": format }).then(
        ({ headers }) => headers,
      );
    assert.match(
      String((await ask("TEXT"))["endpoint-load-metrics"]),
      /^TEXT named_metrics\.num_requests_waiting=0\.0, named_metrics\.kv_cache_usage_perc=[\d.e-]+$/,
    );
    const json = String((await ask("json"))["endpoint-load-metrics"]);
    assert.ok(json.startsWith("JSON {"));
    assert.ok("named_metrics" in (JSON.parse(json.slice(5)) as Json));
    assert.equal((await ask("other"))["endpoint-load-metrics"], undefined);
  });
});

test("records can be read and forgotten over HTTP", async () => {
  await withGpu({}, async (gpu) => {
    await post(gpu, CHAT, chatBody());
    const records = await debugRequests(gpu, "GET");
    assert.equal(records.length, 1);
    assert.equal(records[0]?.["path"], CHAT);
    await debugRequests(gpu, "DELETE");
    assert.equal((await debugRequests(gpu, "GET")).length, 0);
  });
});

test("events of a stream parse one by one", async () => {
  await withGpu({}, async (gpu) => {
    const reply = await post(gpu, CHAT, chatBody({ stream: true }));
    assert.ok(eventData(reply.text).length >= 3);
  });
});

async function debugRequests(gpu: MockGpu, method: string): Promise<Json[]> {
  return (await send(gpu, method, "/debug/requests")).json["requests"] as Json[];
}

function metric(text: string, name: string): number {
  const line = text.split("\n").find((candidate) => candidate.startsWith(`${name}{`));
  return Number(line?.split(" ").pop());
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}
