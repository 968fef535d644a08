// SPDX-License-Identifier: Apache-2.0
// Reads values out of a parsed YAML or JSON tree whose shape nobody promises.

export type Node = Record<string, unknown>;

export function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value at a dotted path, or undefined. */
export function at(node: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((value, key) => (isNode(value) ? value[key] : undefined), node);
}

/** The objects in the list at a path. */
export function nodesAt(node: unknown, path: string): Node[] {
  const value = at(node, path);
  return Array.isArray(value) ? value.filter(isNode) : [];
}

/** The text at a path, or "". */
export function textAt(node: unknown, path: string): string {
  const value = at(node, path);
  return typeof value === "string" ? value : "";
}

/** The number at a path; Envoy's JSON writes 64-bit numbers as text. */
export function numberAt(node: unknown, path: string): number | undefined {
  const value = at(node, path);
  if (typeof value === "string" && /^\d+$/.test(value)) return Number(value);
  return typeof value === "number" ? value : undefined;
}

/** Milliseconds of a protobuf duration (`1.5s`) at a path. */
export function durationMsAt(node: unknown, path: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)s$/.exec(textAt(node, path));
  return match === null ? undefined : Number(match[1]) * 1000;
}

/** Every object of the tree that `wanted` takes, parents before children. */
export function findNodes(tree: unknown, wanted: (node: Node) => boolean): Node[] {
  if (Array.isArray(tree)) return tree.flatMap((each) => findNodes(each, wanted));
  if (!isNode(tree)) return [];
  const below = Object.values(tree).flatMap((value) => findNodes(value, wanted));
  return wanted(tree) ? [tree, ...below] : below;
}

/** Whether an object's `@type` is the given message, of whatever package. */
export function isType(node: unknown, message: string): boolean {
  return textAt(node, "@type").endsWith(`.${message}`);
}
