// SPDX-License-Identifier: Apache-2.0
// Reads the filter's counters, gauges and their meaning out of its own source: names cannot drift from the reference.
import { readFileSync } from "node:fs";
import ts from "typescript";
import { fromRoot } from "../paths.ts";

/** A value that a label can take, and what it means. */
export interface LabelValue {
  value: string;
  meaning: string;
}

export interface Metric {
  /** As the filter names it, labels included: `smetric_pins.result.set`. */
  stat: string;
  kind: "counter" | "gauge" | "histogram";
  meaning: string;
  /** Values of the label, where the name is a family. */
  values?: LabelValue[];
}

function parse(path: string): ts.SourceFile {
  const text = readFileSync(fromRoot(path), "utf8");
  return ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true);
}

function findAll<T extends ts.Node>(root: ts.Node, is: (node: ts.Node) => node is T): T[] {
  const found: T[] = [];
  const visit = (node: ts.Node): void => {
    if (is(node)) found.push(node);
    node.forEachChild(visit);
  };
  visit(root);
  return found;
}

/** Text of the doc comment in front of a node, on one line. */
function docOf(node: ts.Node): string {
  const [doc] = findDocs(node);
  const comment = ts.getTextOfJSDocComment(doc?.comment) ?? "";
  return comment.replace(/\s+/g, " ").trim();
}

function findDocs(node: ts.Node): ts.JSDoc[] {
  return ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
}

/** Members of an enum in order, with their doc comments. */
function readEnum(source: ts.SourceFile, name: string): { name: string; meaning: string }[] {
  const found = findAll(source, ts.isEnumDeclaration).find((each) => each.name.text === name);
  if (found === undefined) throw new Error(`${source.fileName} has no enum ${name}`);
  return found.members.map((member) => ({
    name: member.name.getText(source),
    meaning: docOf(member),
  }));
}

/** What a `switch` over an enum answers, by member; `default` under "". */
function readNames(source: ts.SourceFile, functionName: string): Map<string, string> {
  const found = findAll(source, ts.isFunctionDeclaration).find(
    (each) => each.name?.text === functionName,
  );
  if (found === undefined) throw new Error(`${source.fileName} has no function ${functionName}`);
  const names = new Map<string, string>();
  for (const clause of findAll(found, ts.isCaseOrDefaultClause)) {
    const [text] = findAll(clause, ts.isStringLiteral);
    if (text === undefined) continue;
    const label = ts.isCaseClause(clause) ? clause.expression.getText(source) : "";
    names.set(label.split(".").pop() ?? "", text.text);
  }
  return names;
}

function readLabelValues(path: string, enumName: string, functionName: string): LabelValue[] {
  const source = parse(path);
  const names = readNames(source, functionName);
  return readEnum(source, enumName).map((member) => ({
    value: names.get(member.name) ?? names.get("") ?? "",
    meaning: member.meaning,
  }));
}

function readCounters(): Metric[] {
  const source = parse("assembly/metrics/meters.ts");
  const table = findAll(source, ts.isVariableDeclaration).find(
    (each) => each.name.getText(source) === "COUNTER_NAMES",
  );
  if (table === undefined) throw new Error("assembly/metrics/meters.ts has no COUNTER_NAMES");
  const stats = findAll(table, ts.isStringLiteral).map((literal) => literal.text);
  const members = readEnum(source, "Counter");
  if (stats.length !== members.length) throw new Error("a counter lacks its name");
  return members.map(({ meaning }, index) => ({
    stat: stats[index] ?? "",
    kind: "counter",
    meaning,
  }));
}

function readGauges(
  namesPath: string,
  nameFunction: string,
  kindsPath: string,
  kind: string,
): Metric[] {
  const names = readNames(parse(namesPath), nameFunction);
  const kinds = readEnum(parse(kindsPath), kind);
  return kinds.map(({ name, meaning }) => ({
    stat: `${names.get(name) ?? names.get("") ?? ""}.fleet.CLUSTER.slot.N`,
    kind: "gauge",
    meaning,
  }));
}

/** Every metric of the filter. */
export function readMetrics(): Metric[] {
  const turnBands = readLabelValues("assembly/metrics/turn-band.ts", "TurnBand", "turnBandName");
  return [
    {
      stat: "smetric_streams.outcome",
      kind: "counter",
      meaning: "Streams by how they ended for the filter; every stream counts exactly once.",
      values: readLabelValues("assembly/metrics/outcome.ts", "Outcome", "outcomeName"),
    },
    {
      stat: "smetric_decisions.reason",
      kind: "counter",
      meaning: "Decisions by their reason.",
      values: readLabelValues("assembly/metrics/reason.ts", "Reason", "reasonName"),
    },
    {
      stat: "smetric_reported_prompt_tokens.turns",
      kind: "counter",
      meaning:
        "Prompt tokens of answers of engines that report cached tokens, by the structural turn of the request.",
      values: turnBands,
    },
    {
      stat: "smetric_cached_tokens.turns",
      kind: "counter",
      meaning:
        "Those of them that were cached; divided by `smetric_reported_prompt_tokens`, the hit rate.",
      values: turnBands,
    },
    ...readCounters(),
    {
      stat: "smetric_turn",
      kind: "histogram",
      meaning: "Structural turn of conversations.",
    },
    {
      stat: "smetric_held",
      kind: "gauge",
      meaning: "Requests that wait for admission.",
    },
    {
      stat: "smetric_hold_ms",
      kind: "histogram",
      meaning: "Time that admission made a request wait, in milliseconds.",
    },
    {
      stat: "smetric_uncached_token_ns",
      kind: "gauge",
      meaning: "Learned time to compute a prompt token, of the model that was taught last.",
    },
    {
      stat: "smetric_fetched_token_ns",
      kind: "gauge",
      meaning: "Learned time to fetch a prompt token from a global KV tier.",
    },
    {
      stat: "smetric_tier_returned_permille",
      kind: "gauge",
      meaning: "Learned share of a missing prefix that a global KV tier returned.",
    },
    {
      stat: "smetric_decode_context_token_ps",
      kind: "gauge",
      meaning:
        "Learned price of decoding: what a context token in flight adds to the time per output token.",
    },
    ...readGauges(
      "assembly/filter/envoy-gauges.ts",
      "gaugeName",
      "assembly/memory/shared-store.ts",
      "GaugeKind",
    ),
    {
      stat: "smetric_evicted_idle_seconds.fleet.CLUSTER.slot.N",
      kind: "gauge",
      meaning:
        "Horizon: idle time of the context that the endpoint was last found to have evicted; what idles for longer counts as gone.",
    },
    ...readGauges(
      "assembly/filter/admission-gauges.ts",
      "admissionGaugeName",
      "assembly/filter/admission-gauges.ts",
      "AdmissionGauge",
    ),
  ];
}
