// SPDX-License-Identifier: Apache-2.0
// Tells what a file holds (a configuration, an Envoy bootstrap, Kubernetes manifests) and checks it.
import { parseAllDocuments } from "yaml";
import { Failure } from "../failure.ts";
import { checkWhole } from "./bootstrap-rules.ts";
import { findChains } from "./chain.ts";
import { checkClusters } from "./cluster-rules.ts";
import { checkFilters } from "./filter-rules.ts";
import { error, type Finding } from "./finding.ts";
import { checkLimits } from "./limit-rules.ts";
import { checkManifests, isManifest } from "./manifest-rules.ts";
import { isNode, type Node } from "./node.ts";
import { checkOptions } from "./options-check.ts";

/** Result of one file: what it was taken for, and what was found. */
export interface Report {
  kind: "configuration" | "bootstrap" | "manifests";
  findings: Finding[];
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
 * Checks the text of a file.
 * @throws Failure when the text is neither YAML nor JSON, or nothing that can be checked
 */
export function checkText(text: string): Report {
  const documents = parseAllDocuments(text);
  const broken = documents.flatMap((document) => document.errors)[0];
  if (broken !== undefined) throw new Failure(broken.message.split("\n")[0] ?? "not YAML");
  const trees: unknown[] = documents.map((document) =>
    document.contents === null ? {} : (document.toJS() as unknown),
  );
  if (trees.some(isManifest)) {
    return { kind: "manifests", findings: checkManifests(trees.filter(isManifest), checkText) };
  }
  const [tree] = trees;
  const isEnvoy =
    isNode(tree) && ["static_resources", "dynamic_resources", "configs"].some((key) => key in tree);
  if (isEnvoy) return { kind: "bootstrap", findings: checkBootstrap(tree) };
  return {
    kind: "configuration",
    findings: checkOptions(tree === undefined ? {} : tree, "configuration"),
  };
}
