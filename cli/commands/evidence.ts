// SPDX-License-Identifier: Apache-2.0
// `evidence`: plays the studies in virtual time and writes their results as Markdown, a page and figures.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { announcement, conduct, writtenResults } from "../../lab/evidence/conduct.ts";
import { renderEvidence } from "../../lab/evidence/html.ts";
import {
  AGREEMENT_SPEEDUP,
  agreementPlan,
  agreementText,
  playTwice,
} from "../../lab/evidence/drivers/agreement.ts";
import { EMPTY_RESULTS, withSection } from "../../lab/evidence/markdown.ts";
import { Player } from "../../lab/evidence/player.ts";
import { kneeStudy } from "../../lab/evidence/routing/knees.ts";
import { CELLS } from "../../lab/evidence/routing/regimes.ts";
import { repeatStudy } from "../../lab/evidence/routing/repeat.ts";
import { routingStudy } from "../../lab/evidence/routing/routing-study.ts";
import { packed, readPacked, RunRecords, type RunRow } from "../../lab/evidence/records.ts";
import { STUDIES } from "../../lab/evidence/studies.ts";
import type { Findings, Size, Study } from "../../lab/evidence/study.ts";
import { EnvoyDriver } from "../../lab/replay/drivers/envoy/envoy-driver.ts";
import { VirtualDriver } from "../../lab/replay/drivers/virtual/virtual-driver.ts";
import { buildFilter } from "../build.ts";
import { Failure } from "../failure.ts";
import { interruption } from "../interruption.ts";
import { wholeNumber } from "../numbers.ts";
import { oneOf } from "../one-of.ts";
import { makeFolder, requireWritable, writeJson, writeOutput } from "../output-file.ts";
import { fromRoot } from "../paths.ts";

export interface EvidenceOptions {
  quick?: boolean;
  full?: boolean;
  /** Writes everything again from the runs that are written down. */
  render?: boolean;
  /** Finds the loads of the routing study anew, and writes down the runs that this takes. */
  knees?: boolean;
  /** Cell of the routing study whose best arms run on more seeds. */
  repeat?: string;
  /** Plays a few arms on a real Envoy as well, and writes whether the drivers agree. */
  drivers?: boolean;
  workers: string;
  out?: string;
  json?: string;
}

const CACHE = [".cache", "evidence"];
const PAGE = "results.html";
const RESULTS = "results.md";
/** Bodies as large as those that a real Envoy gets. */
const DEMO_BYTES_PER_TOKEN = 4;

function say(message: string): void {
  process.stderr.write(`${message}\n`);
}

function sizeOf({ quick, full }: EvidenceOptions): Size {
  if (quick && full) throw new Failure("give either --quick or --full, not both");
  return quick ? "quick" : full ? "full" : "default";
}

function studiesNamed(name: string | undefined, among: readonly Study[]): readonly Study[] {
  if (name === undefined) return among;
  const found = among.filter((study) => study.name === name);
  if (found.length > 0) return found;
  const names = among.map((study) => study.name).join(", ");
  throw new Failure(`no study is called ${name}; there are ${names}`);
}

/** Where results go: what stays in the repository is written by the whole default run only. */
function foldersOf(options: EvidenceOptions, size: Size): { text: string; page: string } {
  const built = fromRoot("build", "evidence");
  const text = options.out ?? (size === "quick" ? built : fromRoot("docs"));
  return { text, page: options.out ?? built };
}

function figuresOf(folder: string, study: Study): string {
  return join(folder, "results", `${study.name}.ndjson.gz`);
}

interface Told {
  study: Study;
  rows: RunRow[];
  findings: Findings;
}

/** Finds the rows of a study. */
type RowsOf = (study: Study) => RunRow[] | Promise<RunRow[]>;

/** Those that it takes to play, as far as they have not been played before. */
async function playedRows(size: Size, workers: number): Promise<RowsOf> {
  const { signal } = interruption();
  const player = await Player.create();
  return (study) => {
    say(announcement(study, size, workers));
    const records = new RunRecords(fromRoot(...CACHE, `${study.name}.ndjson`));
    return conduct(study, player, records, { size, workers, signal, say });
  };
}

/**
 * Plays a study that is no part of the whole run, and writes its rows down.
 * @returns what it has found, in Markdown
 */
async function playAside(
  study: Study,
  size: Size,
  workers: number,
  folder: string,
): Promise<string> {
  const rows = await (await playedRows(size, workers))(study);
  writeRows(folder, study, rows);
  return study.findings(size, writtenResults(rows)).markdown;
}

function writeRows(folder: string, study: Study, rows: readonly RunRow[]): void {
  makeFolder("out", join(folder, "results"));
  writeOutput("out", figuresOf(folder, study), packed(rows));
}

/** Writes one section of the page, and prints it. */
function writeSection(folder: string, name: string, title: string, text: string): void {
  const path = join(folder, RESULTS);
  writeOutput("out", path, withSection(pageAt(path), name, title, text));
  console.log(text);
}

async function findKnees(size: Size, workers: number, folder: string): Promise<void> {
  console.log(await playAside(kneeStudy, size, workers, folder));
}

/** Writes the section that has one cell on more seeds. */
async function repeatCell(name: string, workers: number, folder: string): Promise<void> {
  const names = CELLS.map((each) => each.name);
  const cell = CELLS[names.indexOf(oneOf("repeat", name, names))]!;
  const study = repeatStudy(cell, writtenResults(writtenRows(folder, routingStudy)));
  if (study.mostRuns("default") === 0) {
    throw new Failure(`--repeat ${name}: the routing study's default run is not there as a whole`);
  }
  const text = await playAside(study, "default", workers, folder);
  writeSection(folder, study.name, study.title, text);
}

/** Writes the section that holds a real Envoy against virtual time. */
async function compareDrivers(folder: string): Promise<void> {
  const { signal } = interruption();
  const virtual = new VirtualDriver({
    ...{ wasm: await buildFilter(), bytesPerToken: DEMO_BYTES_PER_TOKEN, workers: 2, gateways: 1 },
  });
  const envoy = new EnvoyDriver({ speedup: AGREEMENT_SPEEDUP });
  const played = await playTwice(agreementPlan(), virtual, envoy, say, signal).finally(() =>
    envoy.close(),
  );
  writeSection(folder, "drivers", "On a real Envoy", agreementText(played));
}

function pageAt(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : EMPTY_RESULTS;
}

/** Those of the last run that was written down. */
function writtenRows(folder: string, study: Study): RunRow[] {
  const path = figuresOf(folder, study);
  const rows = readPacked(path);
  if (rows.length === 0) throw new Failure(`there are no runs in ${path} yet`);
  return rows;
}

async function write(
  told: readonly Told[],
  folders: { text: string; page: string },
  keepRows: boolean,
): Promise<void> {
  makeFolder("out", join(folders.text, "results"));
  makeFolder("out", folders.page);
  const path = join(folders.text, RESULTS);
  let text = pageAt(path);
  for (const { study, rows, findings } of told) {
    text = withSection(text, study.name, study.title, findings.markdown);
    if (keepRows) writeRows(folders.text, study, rows);
  }
  writeOutput("out", path, text);
  const page = await renderEvidence({
    conditions: "virtual time: the shipped filter over modelled GPUs",
    notes: told.map(({ study, rows }) => `${study.title}: ${rows.length} runs`),
    studies: told.map(({ study, findings }) => ({ name: study.name, ...findings })),
  });
  writeOutput("out", join(folders.page, PAGE), page);
  say(`${path}, ${join(folders.page, PAGE)}`);
}

/** What is to be done instead of a run of the studies. */
const WAYS = ["render", "knees", "repeat", "drivers"] as const;

function requireOneWay(options: EvidenceOptions): void {
  const given = WAYS.filter((way) => options[way] !== undefined).map((way) => `--${way}`);
  if (given.length > 1) throw new Failure(`${given.join(" and ")}: only one of them at a time`);
}

/**
 * Everything that can be wrong about the flags is said before anything runs.
 * @param name the study, all of them when there is none
 * @param among the studies there are
 */
export async function evidence(
  name: string | undefined,
  options: EvidenceOptions,
  among: readonly Study[] = STUDIES,
): Promise<void> {
  requireOneWay(options);
  const size = sizeOf(options);
  const studies = studiesNamed(name, among);
  const workers = wholeNumber("workers", options.workers, 1, 64);
  requireWritable("json", options.json);
  const folders = foldersOf(options, size);
  if (options.knees) {
    await findKnees(size, workers, folders.text);
    return;
  }
  if (options.repeat !== undefined) {
    await repeatCell(options.repeat, workers, folders.text);
    return;
  }
  if (options.drivers) {
    await compareDrivers(folders.text);
    return;
  }
  const rowsOf: RowsOf = options.render
    ? (study) => writtenRows(folders.text, study)
    : await playedRows(size, workers);
  const told: Told[] = [];
  for (const study of studies) {
    const rows = await rowsOf(study);
    told.push({ study, rows, findings: study.findings(size, writtenResults(rows)) });
  }
  await write(told, folders, !options.render);
  for (const { findings } of told) console.log(findings.markdown);
  if (options.json === undefined) return;
  const figures = told.map(({ study, findings }) => [study.name, findings.figures]);
  writeJson("json", options.json, Object.fromEntries(figures));
}
