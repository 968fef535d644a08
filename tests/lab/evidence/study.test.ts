// SPDX-License-Identifier: Apache-2.0
// The evidence command with a study of three short runs: it renders, goes on where it was stopped, and refuses bad flags.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { evidence, type EvidenceOptions } from "../../../cli/commands/evidence.ts";
import { Failure } from "../../../cli/failure.ts";
import { fromRoot } from "../../../cli/paths.ts";
import { markdownTable, withSection } from "../../../lab/evidence/markdown.ts";
import { Player } from "../../../lab/evidence/player.ts";
import { readPacked, RunRecords } from "../../../lab/evidence/records.ts";
import type { Results, RunSpec, Study } from "../../../lab/evidence/study.ts";

const folder = mkdtempSync(join(tmpdir(), "smetric-evidence-"));
const NAME = `tiny-${process.pid}`;
const CACHE = fromRoot(".cache", "evidence", `${NAME}.ndjson`);
after(() => {
  rmSync(folder, { recursive: true });
  rmSync(CACHE, { force: true });
});

function specOf(arm: string, seed: number): RunSpec {
  return {
    cell: "tiny",
    trace: "bfcl",
    half: "odd",
    fleet: {
      endpoints: 2,
      decodeEndpoints: 0,
      preset: "30b-a3b-h20",
      kvTokens: 100_000,
      blockTokens: 64,
      globalTokens: 0,
      globalGbps: 0,
    },
    load: { sessions: 6 },
    minutes: 1,
    seed,
    arm,
  };
}

/** Two arms on one seed, then the better one on another. */
const TINY: Study = {
  name: NAME,
  title: "A tiny study",
  secondsPerRun: 1,
  mostRuns: () => 3,
  runs(_size, done: Results) {
    const first = ["sticky", "least-request"].map((arm) => specOf(arm, 1));
    const found = first.map((spec) => done.get(spec)?.tps);
    if (found.some((tps) => tps === undefined)) return first;
    const better = found[0]! >= found[1]! ? 0 : 1;
    return [...first, specOf(first[better]!.arm, 2)];
  },
  findings(size, done) {
    const specs = TINY.runs(size, done);
    const rows = specs.map((spec) => [spec.arm, String(Math.round(done.get(spec)!.tps))]);
    const table = { title: "Tokens per second", head: ["arm", "tokens/s"], rows };
    const values = specs.map((spec) => done.get(spec)!.tps);
    return {
      markdown: markdownTable(table),
      panels: [
        {
          ...{ title: "Tokens", text: "by run", kind: "bar", unit: "thousands" },
          labels: specs.map((spec) => spec.arm),
          series: [{ name: "tokens/s", values }],
        },
      ],
      tables: [table],
      figures: { values },
    };
  },
};

const OPTIONS: EvidenceOptions = { workers: "2", out: folder };

async function refuses(change: Partial<EvidenceOptions>, message: RegExp, name = NAME) {
  await assert.rejects(evidence(name, { ...OPTIONS, ...change }, [TINY]), (error: unknown) => {
    assert.ok(error instanceof Failure, String(error));
    assert.match(error.message, message);
    return true;
  });
}

describe("the evidence command", () => {
  it("plays every round of a study and writes text, page, runs and figures", async () => {
    const json = join(folder, "figures.json");
    await evidence(undefined, { ...OPTIONS, json }, [TINY]);
    const rows = readPacked(join(folder, "results", `${NAME}.ndjson.gz`));
    assert.deepEqual(
      rows.map(({ spec }) => spec.seed),
      [1, 1, 2],
    );
    const text = readFileSync(join(folder, "results.md"), "utf8");
    assert.match(text, /^# Results/);
    assert.match(text, /## A tiny study\n\n\| arm \| tokens\/s \|/);
    const page = readFileSync(join(folder, "results.html"), "utf8");
    assert.ok(page.includes('"title":"Tokens per second"'));
    assert.doesNotMatch(page, /<(script|link)[^>]+(src|href)=/);
    const figures = JSON.parse(readFileSync(json, "utf8")) as Record<string, { values: number[] }>;
    assert.deepEqual(
      figures[NAME]!.values,
      rows.map(({ measures }) => measures.tps),
    );
  });

  it("plays nothing twice, and loses a line that was cut off only", async () => {
    const before = readFileSync(CACHE, "utf8");
    const lines = before.split("\n").filter((line) => line !== "");
    assert.equal(lines.length, 3);
    await evidence(NAME, OPTIONS, [TINY]);
    assert.equal(readFileSync(CACHE, "utf8"), before);
    writeFileSync(CACHE, `${lines.slice(0, 2).join("\n")}\n${lines[2]!.slice(0, 80)}`);
    await evidence(NAME, OPTIONS, [TINY]);
    const player = await Player.create();
    const again = new RunRecords(CACHE);
    const written = readPacked(join(folder, "results", `${NAME}.ndjson.gz`));
    for (const row of written) assert.deepEqual(again.get(player.keyOf(row.spec)), row);
  });

  it("writes all again from the runs that are written down, without playing any", async () => {
    const text = readFileSync(join(folder, "results.md"), "utf8");
    rmSync(join(folder, "results.md"));
    rmSync(CACHE);
    await evidence(NAME, { ...OPTIONS, render: true }, [TINY]);
    assert.equal(readFileSync(join(folder, "results.md"), "utf8"), text);
    assert.ok(!existsSync(CACHE));
  });

  it("refuses what it cannot do before anything runs", async () => {
    await refuses({ quick: true, full: true }, /either --quick or --full/);
    await refuses({ workers: "0" }, /--workers 0: a whole number from 1 to 64/);
    await refuses({}, /no study is called speed; there are tiny-/, "speed");
    await refuses({ json: join(folder, "no", "x.json") }, /--json .*: cannot be written/);
    await refuses(
      { render: true, out: join(folder, "empty") },
      /there are no runs in .*\.ndjson\.gz yet/,
    );
    await refuses({ render: true, repeat: "c07" }, /--render and --repeat: only one of them/);
    assert.ok(!existsSync(CACHE));
  });
});

describe("a run's key", () => {
  it("tells apart whatever changes the numbers, and nothing else", async () => {
    const player = await Player.create();
    const spec = specOf("sticky", 1);
    const key = player.keyOf(spec);
    assert.equal(player.keyOf({ ...spec, cell: "another name" }), key);
    for (const change of [
      { seed: 2 },
      { arm: "priced" },
      { half: "even" as const },
      { minutes: 2 },
    ])
      assert.notEqual(player.keyOf({ ...spec, ...change }), key);
  });
});

describe("the page of results", () => {
  it("changes the section of one study and leaves the others alone", () => {
    const both = withSection(withSection("# Results\n", "a", "A", "one"), "b", "B", "two");
    const changed = withSection(both, "a", "A", "three $& $1");
    assert.match(changed, /## A\n\nthree \$& \$1\n/);
    assert.match(changed, /## B\n\ntwo\n/);
    assert.ok(!changed.includes("one"));
  });
});
