// SPDX-License-Identifier: Apache-2.0
// Loose JSON, read with a default instead of a fault: engines accept much that schemas would refuse.

export type Json = Record<string, unknown>;

/** The object, or an empty one. */
export function objectOr(value: unknown): Json {
  return isObject(value) ? value : {};
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The objects of a list; anything else in it is left out. */
export function objectsOf(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export function textOr(value: unknown, standard = ""): string {
  return typeof value === "string" ? value : standard;
}

/** Text as it stands, anything else as compact JSON. */
export function textOrJson(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? {});
}
