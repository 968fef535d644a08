// SPDX-License-Identifier: Apache-2.0
// Tells what a file holds (a configuration, an Envoy bootstrap, Kubernetes manifests) and checks it.
import { parseAllDocuments } from "yaml";
import { checkWhole } from "./bootstrap-rules.ts";
import { findChains } from "./chain.ts";
import { checkClusters } from "./cluster-rules.ts";
import { checkFilters } from "./filter-rules.ts";
import { error, type Finding, warning } from "./finding.ts";
import { checkLimits } from "./limit-rules.ts";
import { checkManifests, concernsFilter, isManifest } from "./manifest-rules.ts";
import { isNode, type Node } from "./node.ts";
import { checkOptions } from "./options-check.ts";

/** Result of one file: what it was taken for, and what was found. */
export interface Report {
  kind: "configuration" | "bootstrap" | "manifests" | "unreadable";
  findings: Finding[];
  /** Kinds of manifests, where no rule looks at any of them. */
  passedOver?: string[];
}

function checkBootstrap(tree: Node): Finding[] {
  const { chains, findings } = findChains(tree);
  if (chains.length === 0 && findings.length === 0) {
    return [error("the bootstrap", "no HTTP chain holds the filter")];
  }
  const perChain = chains.flatMap((chain) => [
    ...checkFilters(chain),
    ...checkLimits(chain),
    ...checkClusters(chain),
  ]);
  return [...findings, ...perChain, ...checkWhole(tree)];
}

/**
 * The documents of a text, an empty one as an empty object.
 * @throws Error when the text is neither YAML nor JSON
 */
function parseTrees(text: string): unknown[] {
  // A compiled module or an archive: a parser's complaint about it helps nobody.
  if (/[\0\ufffd]/.test(text)) throw new Error("it is not text");
  const documents = parseAllDocuments(text);
  const broken = documents.flatMap((document) => document.errors)[0];
  if (broken !== undefined) throw broken;
  return documents.map((document) =>
    document.contents === null ? {} : (document.toJS() as unknown),
  );
}

function unreadable(fault: unknown): Report {
  const [line = ""] = (fault instanceof Error ? fault.message : String(fault)).split("\n");
  return {
    kind: "unreadable",
    findings: [error("the file", `cannot be read as YAML or JSON: ${line.replace(/:$/, "")}`)],
  };
}

function checkEmpty(): Report {
  const message = "it is empty: as a configuration of the filter that means all defaults";
  return { kind: "configuration", findings: [warning("the file", message)] };
}

/** Checks the text of a file; what is neither YAML nor JSON is a finding as well. */
export function checkText(text: string): Report {
  let trees: unknown[];
  try {
    trees = parseTrees(text);
  } catch (fault) {
    return unreadable(fault);
  }
  const manifests = trees.filter(isManifest);
  if (manifests.length > 0) {
    const report: Report = { kind: "manifests", findings: checkManifests(manifests, checkText) };
    if (manifests.some(concernsFilter)) return report;
    const kinds = new Set(manifests.map(({ kind }) => String(kind)));
    return { ...report, passedOver: [...kinds] };
  }
  if (text.trim() === "") return checkEmpty();
  const [tree] = trees;
  const isEnvoy =
    isNode(tree) && ["static_resources", "dynamic_resources", "configs"].some((key) => key in tree);
  if (isEnvoy) return { kind: "bootstrap", findings: checkBootstrap(tree) };
  return {
    kind: "configuration",
    findings: checkOptions(tree === undefined ? {} : tree, "configuration"),
  };
}
