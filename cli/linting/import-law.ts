// SPDX-License-Identifier: Apache-2.0
// The import law: which room may import which. Rooms are folders; imports go down the list only.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fromRoot, root } from "../paths.ts";

/** Rooms of the filter, top to bottom: a room may import those after it. */
const ASSEMBLY_ROOMS: string[] = [
  "index",
  "filter",
  "scheduling",
  "memory",
  "response",
  "request",
  "config",
  "metrics",
  "json",
  "hash",
  "host",
];

/** Only these rooms may know that proxy-wasm exists. */
const HOST_USERS = ["index", "filter"];

/** Files below cli/ that every TypeScript room may import: they import no room themselves. */
const FLOOR = ["cli/build.ts", "cli/failure.ts", "cli/paths.ts", "cli/tool.ts"];

/** What cli/ stands above. */
const BELOW_CLI = [
  "lab/bench",
  "lab/evidence",
  "lab/what-if",
  "lab/replay",
  "lab/virtual-envoy",
  "lab/mock-gpu",
  "envoy",
  "deploy",
];

/** TypeScript rooms and the rooms below each of them; every room may import itself and the floor. */
const TYPESCRIPT_ROOMS: Record<string, string[]> = {
  tests: ["cli", ...BELOW_CLI],
  cli: BELOW_CLI,
  "lab/bench": ["lab/replay", "lab/virtual-envoy", "lab/mock-gpu", "envoy"],
  "lab/what-if": ["lab/replay", "lab/mock-gpu"],
  "lab/evidence": ["lab/replay", "lab/mock-gpu"],
  "lab/replay": ["lab/virtual-envoy", "lab/mock-gpu", "envoy"],
  "lab/virtual-envoy": [],
  "lab/mock-gpu": [],
  envoy: [],
  deploy: [],
};

/** Unit specs, and filters made for tests and yardsticks: AssemblyScript that stands above all rooms of the filter. */
const ABOVE_ASSEMBLY = ["tests/unit/", "tests/fixtures/", "lab/bench/filters/"];

/** An import of one file of the house by another; both paths are relative to the package root. */
export interface Import {
  from: string;
  to: string;
}

const IMPORT = /(?:^|[^\w.])(?:from|import)\s*\(?\s*"(\.{1,2}\/[^"]+)"/g;

/** Relative imports in a source text, static and dynamic. */
export function findImports(from: string, source: string): Import[] {
  return [...source.matchAll(IMPORT)].map(([, target = ""]) => ({
    from,
    to: join(dirname(from), target).split(sep).join("/"),
  }));
}

function assemblyRoom(path: string): string {
  return (path.split("/")[1] ?? "").replace(/\.ts$/, "");
}

function typescriptRoom(path: string): string | undefined {
  if (FLOOR.includes(path)) return "floor";
  return Object.keys(TYPESCRIPT_ROOMS).find((room) => path.startsWith(`${room}/`));
}

function judgeInAssembly({ from, to }: Import): string | undefined {
  if (!to.startsWith("assembly/")) return `the filter imports only itself`;
  const [upper, lower] = [assemblyRoom(from), assemblyRoom(to)];
  if (upper === lower) return undefined;
  if (!ASSEMBLY_ROOMS.includes(upper)) return `${upper} is not in the list of rooms`;
  if (lower === "host" && !HOST_USERS.includes(upper)) {
    return `host is for ${HOST_USERS.join(" and ")} only`;
  }
  const isBelow = ASSEMBLY_ROOMS.indexOf(lower) > ASSEMBLY_ROOMS.indexOf(upper);
  return isBelow ? undefined : `${lower} is not below ${upper}`;
}

function judgeInTypescript({ from, to }: Import): string | undefined {
  if (to.endsWith(".json")) return undefined;
  const upper = typescriptRoom(from);
  const lower = typescriptRoom(to);
  if (upper === undefined) return `${from} is in no room`;
  if (lower === undefined) return `${to} is in no TypeScript room`;
  if (upper === lower || lower === "floor") return undefined;
  const below = TYPESCRIPT_ROOMS[upper] ?? [];
  return below.includes(lower) ? undefined : `${lower} is not below ${upper}`;
}

/** @returns why the law forbids this import, or undefined when it allows it */
export function judge(found: Import): string | undefined {
  if (ABOVE_ASSEMBLY.some((folder) => found.from.startsWith(folder))) return undefined;
  return found.from.startsWith("assembly/") ? judgeInAssembly(found) : judgeInTypescript(found);
}

function listSources(folder: string): string[] {
  if (!existsSync(fromRoot(folder))) return [];
  return readdirSync(fromRoot(folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"));
}

/** @returns one line for every import in the house that the law forbids */
export function checkImportLaw(): string[] {
  const broken: string[] = [];
  for (const folder of ["assembly", "cli", "lab", "envoy", "deploy", "tests"]) {
    for (const file of listSources(folder)) {
      for (const found of findImports(file, readFileSync(fromRoot(file), "utf8"))) {
        const why = judge(found);
        if (why !== undefined) broken.push(`${found.from} imports ${found.to}: ${why}`);
      }
    }
  }
  return broken;
}
