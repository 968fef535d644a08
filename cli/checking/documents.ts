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
import { at, findNodes, isNode, isType, type Node, nodesAt, textAt } from "./node.ts";
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

function isManifest(document: unknown): document is Node {
  return isNode(document) && "apiVersion" in document && "kind" in document;
}

/** Configurations of the filter inside a manifest, of whatever control plane. */
function configurationsIn(manifest: Node): unknown[] {
  const kind = textAt(manifest, "kind");
  if (kind === "WasmPlugin") return [at(manifest, "spec.pluginConfig") ?? {}];
  if (kind === "EnvoyExtensionPolicy") {
    return nodesAt(manifest, "spec.wasm").map((wasm) => wasm["config"] ?? {});
  }
  const texts = findNodes(
    manifest,
    (node) => isType(node["configuration"], "StringValue") && textAt(node, "name") === "smetric",
  );
  return texts.map((node) => JSON.parse(textAt(node, "configuration.value") || "{}") as unknown);
}

function checkManifest(manifest: Node): Finding[] {
  const where = `${textAt(manifest, "kind")} ${textAt(manifest, "metadata.name")}`;
  const bootstraps = Object.values(isNode(manifest["data"]) ? manifest["data"] : {})
    .filter((text): text is string => typeof text === "string")
    .filter((text) => text.includes("static_resources:"));
  try {
    return [
      ...configurationsIn(manifest).flatMap((each) => checkOptions(each, where)),
      ...bootstraps.flatMap((text) => checkText(text).findings),
    ];
  } catch (fault) {
    return [error(where, `the filter's configuration is not valid JSON: ${String(fault)}`)];
  }
}

/**
 * Checks the text of a file.
 * @throws Failure when the text is neither YAML nor JSON, or nothing that can be checked
 */
export function checkText(text: string): Report {
  const documents = parseAllDocuments(text);
  const broken = documents.flatMap((document) => document.errors)[0];
  if (broken !== undefined) throw new Failure(broken.message.split("\n")[0] ?? "not YAML");
  const trees: unknown[] = documents.map((document) => document.toJS() as unknown);
  if (trees.some(isManifest)) {
    return { kind: "manifests", findings: trees.filter(isManifest).flatMap(checkManifest) };
  }
  const [tree] = trees;
  const isEnvoy =
    isNode(tree) && ["static_resources", "dynamic_resources", "configs"].some((key) => key in tree);
  if (isEnvoy) return { kind: "bootstrap", findings: checkBootstrap(tree) };
  return { kind: "configuration", findings: checkOptions(tree ?? {}, "configuration") };
}
