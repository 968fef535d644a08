// SPDX-License-Identifier: Apache-2.0
// Checks a configuration of the filter against its schema, and says what the filter itself would say.
import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import { closest } from "fastest-levenshtein";
import { type Field, readSchema } from "../generating/options-schema.ts";
import { error, type Finding, warning } from "./finding.ts";
import { at, isNode } from "./node.ts";

const { root, fields, groups } = readSchema();
const validate = new Ajv2020({ allErrors: true, verbose: true }).compile(root);

/** Values that rules look at, with the defaults filled in. */
export interface CheckedOptions {
  mode: string;
  policy: string;
  steering: string;
  holdCapBytes: number;
  admission: boolean;
}

function pathOf(fault: ErrorObject): string {
  return fault.instancePath.slice(1).replaceAll("/", ".");
}

function ownerOf(path: string): Field | undefined {
  return fields.find((field) => path === field.path || path.startsWith(`${field.path}.`));
}

const KNOWN = [...groups, ...fields].map(({ path }) => path);

const lastName = (path: string): string => path.slice(path.lastIndexOf(".") + 1);

/** As the filter: a forgotten or added ending or group is a small mistake, however long it is. */
function nearest(path: string): string {
  const prefix = path.slice(0, path.length - lastName(path).length);
  const elsewhere = KNOWN.find((known) => known.endsWith(`.${path}`));
  if (elsewhere !== undefined) return elsewhere;
  const neighbours = KNOWN.filter((known) => known === prefix + lastName(known));
  const sameStart = neighbours.find((known) => known.startsWith(path) || path.startsWith(known));
  return (path.length >= 4 ? sameStart : undefined) ?? closest(path, neighbours);
}

/** Characters of a value that a message repeats. */
const LONGEST_SHOWN = 200;

/** A value as the filter's messages show it. */
function show(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (isNode(value)) return "an object";
  const text = JSON.stringify(value);
  return text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN)}...`;
}

/** The rules about combinations stand in a list of their own. */
function isCombination({ schemaPath }: ErrorObject): boolean {
  return schemaPath.startsWith("#/allOf/");
}

/** Fields that cannot work together; the schema itself carries the filter's words. */
function describeCombination({ parentSchema }: ErrorObject, configuration: unknown): string {
  const words = String(parentSchema?.["description"]);
  const path = words.slice(0, words.indexOf(":"));
  return words.replace("{value}", show(at(configuration, path)));
}

function describe(fault: ErrorObject, configuration: unknown): string {
  if (isCombination(fault)) return describeCombination(fault, configuration);
  const path = pathOf(fault);
  if (fault.keyword === "additionalProperties") {
    const { additionalProperty } = fault.params as { additionalProperty: string };
    const full = path === "" ? additionalProperty : `${path}.${additionalProperty}`;
    return `${full} is not a known option; did you mean ${nearest(full)}?`;
  }
  const field = ownerOf(path);
  if (field === undefined) {
    const value = path === "" ? configuration : at(configuration, path);
    return `${path || "the configuration"}: ${show(value)} is not allowed; an object is`;
  }
  const shown =
    field.node.writeOnly === true
      ? "(a hidden value)"
      : JSON.stringify(at(configuration, field.path));
  return `${field.path}: ${shown} is not allowed; ${field.allowed} is`;
}

/** What works, though hardly as it is meant. */
function checkAdmission(configuration: unknown, where: string): Finding[] {
  const { admission, policy } = readCheckedOptions(configuration);
  if (!admission || policy !== "least-request") return [];
  const message =
    "admission with policy least-request: sessions are scattered, so no endpoint knows what it holds";
  return [warning(where, message)];
}

/** Findings about a configuration that is already parsed; no error when the filter would load it. */
export function checkOptions(configuration: unknown, where: string): Finding[] {
  if (validate(configuration)) return checkAdmission(configuration, where);
  const faults = validate.errors ?? [];
  // Of a combination, only the rule as a whole is told, and not what in it fails.
  const messages = faults
    .filter((fault) => !isCombination(fault) || fault.keyword === "if")
    .map((fault) => describe(fault, configuration));
  return [...new Set(messages)].map((message) => error(where, message));
}

/** The configuration's values, or the defaults where it is silent. */
export function readCheckedOptions(configuration: unknown): CheckedOptions {
  const valueOf = (path: string): unknown =>
    at(configuration, path) ?? fields.find((field) => field.path === path)?.node.default;
  return {
    mode: String(valueOf("mode")),
    policy: String(valueOf("policy")),
    steering: String(valueOf("steering")),
    holdCapBytes: Number(valueOf("hold_cap_bytes")),
    admission: valueOf("admission.enabled") === true,
  };
}
