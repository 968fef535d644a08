// SPDX-License-Identifier: Apache-2.0
// Reads the schema of the filter's options into a flat list of fields, nested groups joined by dots.
import { readFileSync } from "node:fs";
import { fromRoot } from "../paths.ts";

export const SCHEMA_PATH = "assembly/config/options.schema.json";

/** The part of JSON Schema that the options use; anything else is refused by `readFields`. */
export interface SchemaNode {
  title?: string;
  description?: string;
  type: "object" | "array" | "string" | "integer" | "boolean";
  properties?: Record<string, SchemaNode>;
  additionalProperties?: boolean;
  items?: SchemaNode;
  enum?: string[];
  default?: string | number | boolean | string[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  pattern?: string;
  /** A secret: never printed. */
  writeOnly?: boolean;
  /** At the top: combinations of fields that are refused, each with the message in its description. */
  allOf?: unknown[];
}

/** What a field holds; `choice` is a string out of a list. */
export type FieldKind = "flag" | "integer" | "text" | "choice" | "texts";

/** Texts a field may hold, by the pattern that the schema gives; the filter has no regular expressions. */
export const ALPHABETS: Record<string, { name: string; says: string }> = {
  "^[A-Za-z0-9!#$%&'*+.^_`|~-]*$": { name: "HeaderName", says: "header name" },
  "^/[!-~]*$": { name: "PathEnd", says: "path that begins with /" },
  "^[ -~]*$": { name: "Printable", says: "printable ASCII text" },
};

export interface Field {
  /** As in the JSON text: `admission.hold_limit_ms`. */
  path: string;
  /** As in the class Options: `admissionHoldLimitMs`. */
  property: string;
  kind: FieldKind;
  node: SchemaNode;
  description: string;
  /** Constraints of the text itself, or of each text of a list. */
  text: SchemaNode;
  /** What an error message says is allowed. */
  allowed: string;
}

/** A nested object. */
export interface Group {
  /** Without a trailing dot. */
  path: string;
  description: string;
}

export interface Schema {
  root: SchemaNode;
  groups: Group[];
  fields: Field[];
}

function toProperty(path: string): string {
  return path.replace(/[._]([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function kindOf(path: string, node: SchemaNode): FieldKind {
  if (node.type === "boolean") return "flag";
  if (node.type === "integer") return "integer";
  if (node.type === "string") return node.enum === undefined ? "text" : "choice";
  if (node.type === "array" && node.items?.type === "string") return "texts";
  throw new Error(`${path}: the filter's reader knows no ${node.type} like this`);
}

function describeText(node: SchemaNode): string {
  const alphabet = ALPHABETS[node.pattern ?? ""];
  if (alphabet === undefined) throw new Error(`pattern ${node.pattern} has no reader`);
  const { minLength = 0, maxLength } = node;
  if (maxLength === undefined) throw new Error("every text needs a maxLength");
  return minLength === 0
    ? `a ${alphabet.says} of at most ${maxLength} characters, or ""`
    : `a ${alphabet.says} of ${minLength} to ${maxLength} characters`;
}

function describeAllowed(kind: FieldKind, node: SchemaNode): string {
  switch (kind) {
    case "flag":
      return "true or false";
    case "integer":
      return `an integer from ${node.minimum} to ${node.maximum}`;
    case "choice":
      return `one of ${(node.enum ?? []).map((name) => `"${name}"`).join(", ")}`;
    case "text":
      return describeText(node);
    case "texts":
      return `a list of at most ${node.maxItems} texts, each ${describeText(node.items ?? node)}`;
  }
}

function readField(path: string, node: SchemaNode): Field {
  const kind = kindOf(path, node);
  if (node.default === undefined) throw new Error(`${path} has no default`);
  if (node.description === undefined) throw new Error(`${path} has no description`);
  if (kind === "integer" && (node.minimum === undefined || node.maximum === undefined)) {
    throw new Error(`${path} has no minimum or maximum`);
  }
  if (kind === "texts" && node.maxItems === undefined) throw new Error(`${path} has no maxItems`);
  if (kind === "choice" && node.title === undefined) throw new Error(`${path} has no title`);
  return {
    path,
    property: toProperty(path),
    kind,
    node,
    description: node.description,
    text: node.items ?? node,
    allowed: describeAllowed(kind, node),
  };
}

function walk(node: SchemaNode, prefix: string, schema: Schema): void {
  if (node.additionalProperties !== false) throw new Error(`${prefix || "the top"} is open`);
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    const path = prefix + name;
    if (child.type === "object") {
      schema.groups.push({ path, description: child.description ?? "" });
      walk(child, `${path}.`, schema);
    } else {
      schema.fields.push(readField(path, child));
    }
  }
}

/** @throws Error when the schema uses what the filter's reader does not understand */
export function readSchema(): Schema {
  const root = JSON.parse(readFileSync(fromRoot(SCHEMA_PATH), "utf8")) as SchemaNode;
  const schema: Schema = { root, groups: [], fields: [] };
  walk(root, "", schema);
  return schema;
}
