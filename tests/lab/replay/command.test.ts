// SPDX-License-Identifier: Apache-2.0
// The replay command: JSON with the defined names, a page that needs nothing from elsewhere, faults in one line.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { type ReplayOptions, replay } from "../../../cli/commands/replay.ts";
import { Failure } from "../../../cli/failure.ts";
import { fromRoot } from "../../../cli/paths.ts";
import type { Report } from "../../../lab/replay/report/report.ts";

const folder = mkdtempSync(join(tmpdir(), "smetric-replay-"));
after(() => rmSync(folder, { recursive: true }));

const OPTIONS: ReplayOptions = {
  ...{ trace: "bfcl", driver: "virtual", policies: "sticky,least-request", endpoints: "2" },
  ...{ sessions: "8", minutes: "2", preset: "30b-a3b-h20", globalGbps: "0" },
  ...{ bytesPerToken: "0.5", tokenScale: "1", starts: "genuine", speedup: "10" },
  ...{ gateways: "1", seed: "1", seeds: "2" },
};

describe("the replay command", () => {
  it("writes every arm with the defined names, the mean first and each seed below it", async () => {
    const json = join(folder, "report.json");
    const html = join(folder, "report.html");
    await replay({ ...OPTIONS, json, html });
    const { config, arms, notes } = JSON.parse(readFileSync(json, "utf8")) as Report;
    assert.deepEqual(config["seeds"], [1, 2]);
    assert.equal(config["kv_tokens"], 700_000);
    assert.deepEqual(
      arms.map((arm) => arm.policy),
      ["sticky", "least-request"],
    );
    const documented = readFileSync(fromRoot("docs", "measures.md"), "utf8");
    for (const name of Object.keys(arms[0]!)) {
      if (name !== "policy") assert.ok(documented.includes(`\`${name}\``), `${name} is documented`);
    }
    const [sticky] = arms;
    const [first, second] = sticky!.by_seed!;
    assert.ok(Math.abs(sticky!.tps - (first!.tps + second!.tps) / 2) < 1e-6);
    assert.ok(notes.some((note) => note.includes("against the best baseline here, least-request")));
    const page = readFileSync(html, "utf8");
    assert.ok(page.includes('"policy":"least-request"'));
    assert.doesNotMatch(page, /<(script|link)[^>]+(src|href)=/);
  });

  it("names what is wrong and what is allowed", async () => {
    const faults: [Partial<ReplayOptions>, RegExp][] = [
      [{ policies: "fast" }, /policy fast: allowed in virtual time are priced/],
      [{ driver: "real" }, /--driver real: allowed are envoy, virtual/],
      [{ endpoints: "0" }, /--endpoints 0: a whole number from 1 to 1024/],
      [{ rate: "1" }, /either --sessions or --rate/],
      [{ driver: "envoy", pd: "2:2" }, /--pd: only --driver virtual/],
      [{ preset: "h100" }, /--preset h100: allowed are 8b-h100/],
      [{ url: "localhost" }, /--url localhost: an address like/],
    ];
    for (const [change, message] of faults) {
      await assert.rejects(
        replay({ ...OPTIONS, seeds: "1", ...change }),
        (error: unknown) => error instanceof Failure && message.test(error.message),
      );
    }
  });
});
