// SPDX-License-Identifier: Apache-2.0
// The request samples of the three dialects of agents, each with what it is known to be.
import { readFileSync } from "node:fs";
import { fromRoot } from "../../cli/paths.ts";

const FOLDER = fromRoot("tests/fixtures/dialects");
const DIALECTS = /^(openai|mistral|vllm)-chat|^responses|^openai-responses|^anthropic/;

export interface Sample {
  file: string;
  path: string;
  turn: number;
  /** The server holds the history: the turn is a lower bound. */
  atLeast: boolean;
  lastModelEndByte: number;
  headers: [string, string][];
  sessionSource: string;
  body: Uint8Array;
}

function sessionSource(column: string): string {
  const inBody = /^body (\w+)=|^(conversation\.id)=/.exec(column);
  if (inBody) return `body ${inBody[1] ?? inBody[2]}`;
  return column === "thread-id" ? column : "chain";
}

export function readSamples(): Sample[] {
  const rows = readFileSync(`${FOLDER}/index.tsv`, "utf8").trimEnd().split("\n").slice(1);
  return rows
    .map((row) => row.split("\t"))
    .filter(([, dialect = ""]) => DIALECTS.test(dialect))
    .map(([file = "", dialect = "", turn = "", , , headers = "", session = "", end = ""]) => ({
      file,
      path: dialect.replace(/^.*POST /, ""),
      turn: Number(/\d+/.exec(turn)?.[0]),
      atLeast: /^>=|^unknown/.test(turn),
      lastModelEndByte: end === "" ? -1 : Number(end),
      headers: headers === "" ? [] : [headers.split(": ") as [string, string]],
      sessionSource: sessionSource(session),
      body: readFileSync(`${FOLDER}/${file}`),
    }));
}
