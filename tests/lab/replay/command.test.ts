// SPDX-License-Identifier: Apache-2.0
// The replay command: JSON with the defined names, a page that needs nothing from elsewhere, faults in one line.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { replay } from "../../../cli/commands/replay.ts";
import { Failure } from "../../../cli/failure.ts";
import { fromRoot } from "../../../cli/paths.ts";
import type { ReplayFlags } from "../../../cli/replaying/replay-flags.ts";
import type { Report } from "../../../lab/replay/report/report.ts";

const folder = mkdtempSync(join(tmpdir(), "smetric-replay-"));
after(() => rmSync(folder, { recursive: true }));

const OPTIONS: ReplayFlags = {
  ...{ trace: "bfcl", policies: "sticky,least-request", endpoints: "2" },
  ...{ sessions: "8", minutes: "2", seeds: "2" },
};

/** Every change of the flags is refused with its message, and nothing is written. */
async function refuses(faults: [Partial<ReplayFlags>, RegExp][]): Promise<void> {
  for (const [change, message] of faults) {
    await assert.rejects(replay({ ...OPTIONS, seeds: "1", ...change }), (error: unknown) => {
      assert.ok(error instanceof Failure, String(error));
      assert.match(error.message, message);
      return true;
    });
  }
}

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

  it("writes what the filter records of one run, beside a balancer of Envoy's as well", async () => {
    for (const policies of ["sticky", "round-robin"]) {
      const records = join(folder, `${policies}.jsonl`);
      await replay({ ...OPTIONS, seeds: "1", policies, records });
      const lines = readFileSync(records, "utf8").trimEnd().split("\n");
      const pinned = lines.filter((line) => line.includes('"pinned":true'));
      assert.equal(pinned.length > 0, policies === "sticky");
      for (const line of lines) assert.ok("boundaries" in (JSON.parse(line) as object), line);
    }
    await refuses([
      [{ records: "a", policies: "sticky,p2c" }, /--records: give one policy and one seed/],
      [{ records: "a", policies: "session-hash" }, /--records: allowed policies are priced/],
      [
        { records: "a", policies: "sticky", driver: "envoy" },
        /policy sticky: a real Envoy is observed with least-request/,
      ],
    ]);
  });

  it("names what is wrong and what is allowed", async () => {
    await refuses([
      [{ policies: "fast" }, /policy fast: allowed in virtual time are priced/],
      [{ policies: "sticky,bogus" }, /policy bogus: allowed in virtual time are priced/],
      [{ policies: "sticky,constructor" }, /policy constructor: allowed/],
      [{ policies: "sticky,p2c", driver: "envoy" }, /policy p2c: a real Envoy plays filter/],
      [{ policies: "sticky,sticky" }, /--policies: sticky is there twice/],
      [{ policies: "linear:7" }, /policy linear:7: linear takes one number from 0 to 1/],
      [{ policies: "linear:0.5:9" }, /policy linear:0.5:9: linear takes one number/],
      [{ policies: "cache-first:1" }, /policy cache-first:1: cache-first takes no parameter/],
      [{ driver: "real" }, /--driver real: allowed are envoy, virtual/],
      [{ endpoints: "0" }, /--endpoints 0: a whole number from 1 to 1024/],
      [{ kvTokens: "63" }, /--kv-tokens 63: less than a block of 64 tokens/],
      [{ rate: "1" }, /either --sessions or --rate/],
      [{ endpoints: undefined, pd: "4" }, /--pd 4: write it as 4:8/],
      [{ endpoints: undefined, pd: "2:2:9" }, /--pd 2:2:9: write it as 4:8/],
      [{ admission: "x" }, /--admission x: allowed are off, learned/],
      [{ admission: "fixed" }, /--admission fixed: fixed takes a share/],
      [{ admission: "off,off" }, /--admission: off is there twice/],
      [{ policies: "p2c", admission: "given" }, /policy p2c: only the filter's policies/],
      [{ admission: "aimd", driver: "envoy" }, /--admission aimd: only --driver virtual/],
      [
        { policies: "sticky", admission: "given", holdOrder: "lifo" },
        /--hold-order lifo: allowed are fifo/,
      ],
      [{ events: "3:explode" }, /--events 3:explode: write it as one of 10:kv=500000/],
      [{ falseReports: "1" }, /--false-reports 1: a share below 1/],
      [{ usage: "some" }, /--usage some: allowed are told, hidden/],
      [{ preset: "h100" }, /--preset h100: allowed are 8b-h100/],
    ]);
    await assert.rejects(replay({ url: "localhost" }), /--url localhost: an address like/);
  });

  it("refuses by its name a flag that would have no effect", async () => {
    await refuses([
      [{ driver: "envoy", pd: "2:2" }, /--pd: only --driver virtual/],
      [{ driver: "envoy", gateways: "3" }, /--gateways: only --driver virtual/],
      [{ driver: "envoy", bytesPerToken: "1" }, /--bytes-per-token: only --driver virtual/],
      [{ driver: "envoy", events: "1:down@0" }, /--events: only --driver virtual/],
      [{ endpoints: undefined, pd: "2:2", events: "1:down@0" }, /--events: endpoints of a disagg/],
      [{ sessions: undefined, rate: "1", events: "1:sessions=2" }, /--events: only a closed pop/],
      [{ holdLimit: "3" }, /--hold-limit: give --admission as well/],
      [{ gatewayOf: "session" }, /--gateway-of: give --gateways as well/],
      [{ speedup: "20" }, /--speedup: only --driver envoy/],
      [{ pd: "2:2" }, /--endpoints: --pd gives the endpoints/],
      [{ globalTokens: "1000" }, /--global-tokens: give --global-gbps as well/],
      [{ tokenScale: "2" }, /--token-scale: only the coding-agent trace/],
      [{ starts: "all" }, /--starts: only the coding-agent trace/],
      [{ url: "http://127.0.0.1:1" }, /--trace: means nothing with --url/],
    ]);
  });

  it("finds out before anything runs that a result cannot be written", async () => {
    await refuses([
      [
        { json: join(folder, "no", "x.json") },
        /--json .*x\.json: cannot be written: there is no folder/,
      ],
      [{ html: folder }, /--html .*: cannot be written: it is a folder/],
    ]);
  });

  it("fails with one line when no request succeeds", async () => {
    const json = join(folder, "nothing.json");
    await refuses([
      [{ kvTokens: "100", json }, /policy sticky: no request succeeded \(the first error: /],
    ]);
    assert.ok(!existsSync(json));
  });
});
