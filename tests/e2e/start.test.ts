// SPDX-License-Identifier: Apache-2.0
// `npm start`, the first command that anybody runs, with few agents: it serves its page, ends by itself and compares.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runToEnd } from "./harness/command.ts";

interface Arm {
  policy: string;
  requests: number;
  errors: number;
  hit_rate: number;
  turn_accuracy: number | null;
}

const ARMS = ["filter", "least-request", "round-robin", "session-hash"];

test("start plays all four arms without an error and ends with a table of them", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "smetric-start-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const json = join(folder, "start.json");
  const table = await runToEnd(["start", "--sessions", "4", "--endpoints", "2", "--json", json]);
  for (const arm of ARMS) assert.ok(table.includes(arm), table);

  const { arms } = JSON.parse(readFileSync(json, "utf8")) as { arms: Arm[] };
  assert.deepEqual(
    arms.map(({ policy }) => policy),
    ARMS,
  );
  for (const { policy, requests, errors } of arms) {
    assert.ok(requests > 20, `${policy}: ${requests} requests`);
    assert.equal(errors, 0, policy);
  }
  const [filter, leastRequest] = arms;
  assert.equal(filter?.turn_accuracy, 1);
  assert.ok(filter.hit_rate > leastRequest!.hit_rate);
});
