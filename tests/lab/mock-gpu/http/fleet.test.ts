// SPDX-License-Identifier: Apache-2.0
// Many GPUs in one process: shared tier, split pools, SGLang's ways, and the process form.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import {
  type MockFleet,
  type MockFleetOptions,
  startMockFleet,
} from "../../../../lab/mock-gpu/http/fleet.ts";
import { type MockGpu } from "../../../../lab/mock-gpu/http/server.ts";
import { type Json, longText, post, send, user, withGpu } from "./client.ts";

const CHAT = "/v1/chat/completions";

async function withFleet(
  options: MockFleetOptions,
  use: (fleet: MockFleet) => Promise<void>,
): Promise<void> {
  const fleet = await startMockFleet({ preset: "8b-h100", speedup: 50, model: "mock", ...options });
  try {
    await use(fleet);
  } finally {
    await fleet.close();
  }
}

function at(fleet: MockFleet, index: number): MockGpu {
  const gpu = fleet.gpus[index];
  assert.ok(gpu);
  return gpu;
}

function chatBody(salt = 1, fields: Json = {}): Json {
  return { model: "mock", messages: [user(longText(400, salt))], max_tokens: 3, ...fields };
}

test("a hundred GPUs answer in one process", async () => {
  await withFleet({ count: 100 }, async (fleet) => {
    const replies = await Promise.all(fleet.gpus.map((gpu, i) => post(gpu, CHAT, chatBody(i))));
    assert.ok(replies.every(({ status }) => status === 200));
    assert.equal(new Set(fleet.gpus.map(({ port }) => port)).size, 100);
    for (const gpu of fleet.gpus) assert.equal(gpu.recorder.requests.length, 1);
  });
});

test("what one endpoint computed another one fetches from the shared tier", async () => {
  await withFleet({ count: 2, globalTokens: 100_000, globalGbPerS: 1000 }, async (fleet) => {
    await post(at(fleet, 0), CHAT, chatBody());
    const { json } = await post(at(fleet, 1), CHAT, chatBody());
    const usage = json["usage"] as { prompt_tokens_details: { cached_tokens: number } };
    assert.ok(usage.prompt_tokens_details.cached_tokens > 380);
    assert.ok(at(fleet, 1).engine.counters.fetchedTokens > 380);
    const { text } = await send(at(fleet, 1), "GET", "/metrics");
    assert.match(text, /vllm:external_prefix_cache_hits_total\{.*\} [1-9]/);
  });
});

test("without a shared tier it is computed again", async () => {
  await withFleet({ count: 2 }, async (fleet) => {
    await post(at(fleet, 0), CHAT, chatBody());
    await post(at(fleet, 1), CHAT, chatBody());
    assert.equal(at(fleet, 1).recorder.requests[0]?.cached_tokens, 0);
  });
});

test("prefill endpoints answer with what their decode pool generates", async () => {
  await withFleet({ count: 2, decodeEngines: 1 }, async (fleet) => {
    const body = chatBody(1, { max_tokens: 30, ignore_eos: true });
    const whole = await post(at(fleet, 0), CHAT, body);
    assert.equal((whole.json["usage"] as Json)["completion_tokens"], 30);
    const streamed = await post(at(fleet, 1), CHAT, { ...body, stream: true });
    assert.ok(streamed.text.endsWith("data: [DONE]\n\n"));
    const again = await post(at(fleet, 0), CHAT, body);
    const { prompt_tokens_details: details } = again.json["usage"] as {
      prompt_tokens_details: Json | null;
    };
    assert.ok(Number(details?.["cached_tokens"]) > 380);
    const counters = fleet.cluster.engines.map((engine) => engine.counters);
    assert.deepEqual(
      counters.map(({ done }) => done),
      [2, 1, 3],
    );
    assert.equal(counters[2]?.outputTokens, 90);
  });
});

test("SGLang's names, its order of priorities and its own path", async () => {
  await withGpu({ engine: "sglang" }, async (gpu) => {
    const low = await post(gpu, CHAT, chatBody(1, { priority: 5 }));
    assert.equal(low.status, 200); // Ignored where it is off.
    const text = longText(100, 2);
    const sampling = { sampling_params: { max_new_tokens: 4 } };
    const first = await post(gpu, "/generate", { text, ...sampling });
    const second = await post(gpu, "/generate", { text, ...sampling });
    const meta = second.json["meta_info"] as Json;
    // By the token: all but the last one.
    assert.equal(meta["cached_tokens"], (meta["prompt_tokens"] as number) - 1);
    assert.equal(first.json["text"], second.json["text"]);
    const metrics = (await send(gpu, "GET", "/metrics")).text;
    assert.match(metrics, /sglang:num_running_reqs\{.*\} 0/);
    assert.match(metrics, /sglang:token_usage\{/);
    assert.ok(!metrics.includes("vllm:"));
  });
  await withGpu({}, async (gpu) => {
    assert.equal((await post(gpu, "/generate", { text: "x" })).status, 404);
  });
});

test("the process form listens, serves and ends on a signal", async () => {
  const entry = "cli/smetric-envoy.mjs";
  const args = [entry, "mock-gpu", "--port", "0", "--endpoints", "2", "--preset", "8b-h100"];
  const child = spawn(process.execPath, [...args, "--speedup", "50", "--model", "mock"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const ports = await new Promise<number[]>((resolve, reject) => {
      let output = "";
      child.once("error", reject);
      child.once("exit", () => reject(new Error(`ended early: ${output}`)));
      child.stdout.on("data", (chunk: Buffer) => {
        output += chunk.toString();
        const found = [...output.matchAll(/http:\/\/127\.0\.0\.1:(\d+)/g)].map(([, p]) =>
          Number(p),
        );
        if (found.length === 2) resolve(found);
      });
    });
    for (const port of ports) {
      const reply = await fetch(`http://127.0.0.1:${port}/v1/models`);
      const { data } = (await reply.json()) as { data: { id: string }[] };
      assert.equal(data[0]?.id, "mock");
    }
  } finally {
    child.removeAllListeners("exit");
    if (child.exitCode === null) {
      const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      assert.equal(await ended, 0);
    }
  }
});
