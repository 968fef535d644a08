// SPDX-License-Identifier: Apache-2.0
// The official SDKs hold tool conversations with mock GPUs through Envoy: each call is known as the turn it is, and stays home.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { buildFilter } from "../../cli/build.ts";
import { startEnvoy, type RunningEnvoy } from "../../envoy/launcher.ts";
import type { RequestRecord } from "../../lab/mock-gpu/http/recorder.ts";
import { startMockGpu, type MockGpu } from "../../lab/mock-gpu/http/server.ts";
import { talkInAiSdk } from "./sdks/ai-sdk.ts";
import { talkInMessages } from "./sdks/anthropic.ts";
import { talkInLangChainChat, talkInLangChainResponses } from "./sdks/langchain.ts";
import { talkInChat, talkInResponses, talkInStoredResponses } from "./sdks/openai.ts";
import { pythonOfSdks, talkInPython } from "./sdks/python.ts";
import { EXPECTED_CALLS, scriptFor, TOOL_ROUNDS, type Talk } from "./sdks/script.ts";

const CHAT = "/v1/chat/completions";
const RESPONSES = "/v1/responses";
const MESSAGES = "/v1/messages";

interface Speaker {
  sdk: string;
  path: string;
  talk: Talk;
  /** The engine keeps the history: a body shows that something went before, and not how much. */
  stored?: boolean;
}

const SPEAKERS: Speaker[] = [
  { sdk: "openai for Node, chat", path: CHAT, talk: talkInChat },
  { sdk: "openai for Node, responses", path: RESPONSES, talk: talkInResponses },
  {
    sdk: "openai for Node, stored responses",
    path: RESPONSES,
    talk: talkInStoredResponses,
    stored: true,
  },
  { sdk: "@anthropic-ai/sdk", path: MESSAGES, talk: talkInMessages },
  { sdk: "ai with @ai-sdk/openai-compatible", path: CHAT, talk: talkInAiSdk },
  { sdk: "@langchain/openai, chat", path: CHAT, talk: talkInLangChainChat },
  { sdk: "@langchain/openai, responses", path: RESPONSES, talk: talkInLangChainResponses },
  { sdk: "openai for Python, chat", path: CHAT, talk: talkInPython("openai-chat") },
  { sdk: "openai for Python, responses", path: RESPONSES, talk: talkInPython("openai-responses") },
  {
    sdk: "openai for Python, stored responses",
    path: RESPONSES,
    talk: talkInPython("openai-stored-responses"),
    stored: true,
  },
  { sdk: "anthropic for Python", path: MESSAGES, talk: talkInPython("anthropic-messages") },
  { sdk: "litellm, openai", path: CHAT, talk: talkInPython("litellm-openai") },
  { sdk: "litellm, anthropic", path: MESSAGES, talk: talkInPython("litellm-anthropic") },
];

/** Envoy with the filter in front of GPUs that call tools. */
async function startGateway(t: TestContext): Promise<{ envoy: RunningEnvoy; gpus: MockGpu[] }> {
  const options = { speedup: 200, model: "test-model", toolRounds: TOOL_ROUNDS };
  const gpus = await Promise.all(Array.from({ length: 3 }, () => startMockGpu(options)));
  t.after(() => Promise.all(gpus.map((gpu) => gpu.close())));
  const envoy = await startEnvoy({
    bootstrap: "pin",
    endpoints: gpus.map((gpu) => gpu.address),
    wasm: await buildFilter(),
  });
  t.after(() => envoy.stop());
  return { envoy, gpus };
}

/** What the GPU was told about a request. */
function toldOf({ path, status, headers }: RequestRecord): object {
  return {
    path: path.split("?")[0],
    status,
    turn: Number(headers["x-smetric-turn"]),
    verified: Number(headers["x-smetric-verified-turn"]),
    reason: headers["x-smetric-decision"],
  };
}

function expected({ path, stored = false }: Speaker): object[] {
  return EXPECTED_CALLS.map((_, index) => ({
    path,
    status: 200,
    turn: index + 1,
    verified: index + 1,
    reason: index === 0 ? "first_turn" : stored ? "held" : "home",
  }));
}

test("each call of an SDK's conversation is known as its turn and stays home", async (t) => {
  pythonOfSdks();
  const { envoy, gpus } = await startGateway(t);
  for (const speaker of SPEAKERS) {
    const { sdk, talk } = speaker;
    await t.test(sdk, async () => {
      for (const gpu of gpus) gpu.recorder.clear();
      const calls = await talk(envoy.url, scriptFor(sdk));
      const records = gpus
        .map((gpu) => gpu.recorder.requests)
        .filter((requests) => requests.length > 0);
      assert.equal(records.length, 1, "the conversation has visited several endpoints");
      assert.deepEqual(records.flat().map(toldOf), expected(speaker));
      assert.deepEqual(calls, EXPECTED_CALLS);
    });
  }
});
