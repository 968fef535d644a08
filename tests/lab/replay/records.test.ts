// SPDX-License-Identifier: Apache-2.0
// The filter's own records as a workload: what it wrote about sessions gives the same sessions back.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { buildFilter } from "../../../cli/build.ts";
import { ChatBodies } from "../../../lab/replay/bodies/chat-body.ts";
import { airlineSource } from "../../../lab/replay/workloads/airline.ts";
import { takeSessions } from "../../../lab/replay/workloads/session.ts";
import { traceFileSource } from "../../../lab/replay/workloads/trace-file.ts";
import { VirtualEnvoy } from "../../../lab/virtual-envoy/index.ts";

const ANSWER = JSON.stringify({
  choices: [{ message: { role: "assistant", content: "a" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 },
});

it("records of the filter are read back as the sessions that they came from", async () => {
  const envoy = new VirtualEnvoy({
    wasm: await buildFilter(),
    configuration: { record: true },
    endpoints: ["10.0.0.1:8000", "10.0.0.2:8000"],
    limits: { connectionBytes: 16 * 1024 * 1024 },
  });
  const bodies = new ChatBodies({ model: "model", bytesPerToken: 4, synthetic: false });
  const sessions = takeSessions(airlineSource({ seed: 1, gapCapMs: 1000 }), 12);
  const lines: string[] = [];
  const longest = Math.max(...sessions.map((session) => session.calls.length));
  // All sessions side by side, one call of each after the other.
  for (let index = 0; index < longest; index++) {
    for (const session of sessions) {
      const call = session.calls[index];
      if (call === undefined) continue;
      const { filterState } = envoy.request({
        path: "/v1/chat/completions",
        headers: { "content-type": "application/json" },
        body: bodies.body(session, call),
        response: { headers: { "content-type": "application/json" }, chunks: [ANSWER] },
      });
      lines.push(filterState["wasm.smetric_record"] ?? "null");
      envoy.tick(100);
    }
  }
  envoy.close();
  const folder = mkdtempSync(join(tmpdir(), "smetric-records-"));
  try {
    const file = join(folder, "records.jsonl");
    writeFileSync(file, lines.join("\n"));
    const read = takeSessions(traceFileSource(file, { seed: 1, gapCapMs: 1000 }), sessions.length);
    const turns = (each: typeof sessions): string[] =>
      each.map((session) => session.calls.map((call) => call.turn).join(" ")).sort();
    assert.deepEqual(turns(read), turns(sessions));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
