#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The one entry of every script and of the CLI: plain Node, works before any dependency is installed.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const MIN_NODE = [20, 11];

function fail(message) {
  process.stderr.write(`smetric-envoy: ${message}\n`);
  process.exit(1);
}

function say(message) {
  process.stderr.write(`smetric-envoy: ${message}\n`);
}

function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < MIN_NODE[0] || (major === MIN_NODE[0] && minor < MIN_NODE[1])) {
    fail(`Node ${MIN_NODE.join(".")} or newer is needed, this is ${process.versions.node}`);
  }
}

/** Inside `npm run`, `npm` on PATH may be some dependency's own old copy: npm says itself where it is. */
function findNpm() {
  const self = process.env["npm_execpath"];
  const isNpm = self !== undefined && /npm-cli\.c?js$/.test(self);
  return isNpm ? { command: process.execPath, leading: [self] } : { command: "npm", leading: [] };
}

/** Dependencies are stale when the lock file is not the one they were installed from. */
function ensureDependencies() {
  const lock = join(root, "package-lock.json");
  if (!existsSync(lock)) return; // An installed npm package: npm has done this already.
  const digest = createHash("sha256").update(readFileSync(lock)).digest("hex");
  const stamp = join(root, "node_modules", ".smetric-lock");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return;
  say("installing dependencies (npm ci) ...");
  const { command, leading } = findNpm();
  const options = ["ci", "--no-fund", "--no-audit", "--loglevel=error"];
  const result = spawnSync(command, [...leading, ...options], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (result.error) fail(`npm could not be started: ${result.error.message}`);
  if (result.status !== 0) fail(`npm ci failed with exit code ${result.status}`);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, digest);
}

/** Bundles the command line; esbuild takes a fraction of a second, so it is simply done each time. */
async function bundleCli() {
  const source = join(root, "cli", "main.ts");
  if (!existsSync(source)) return;
  const esbuild = await import("esbuild");
  await esbuild.build({
    entryPoints: [source],
    outdir: join(root, "build", "cli"),
    absWorkingDir: root,
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    sourcemap: true,
    outExtension: { ".js": ".mjs" },
    logLevel: "error",
  });
}

requireNode();
try {
  ensureDependencies();
  await bundleCli();
} catch (error) {
  fail(error instanceof Error ? error.message : String(error));
}
const bundle = join(root, "build", "cli", "main.mjs");
if (!existsSync(bundle) || !statSync(bundle).isFile()) fail(`${bundle} is missing`);
process.env["SMETRIC_ROOT"] = root;
const { main } = await import(pathToFileURL(bundle).href);
await main(process.argv.slice(2));
