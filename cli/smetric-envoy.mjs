#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The one entry of every script and of the CLI: plain Node, works before any dependency is installed.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
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

/** npm writes down what it installed: dependencies are stale when that is not what the lock file asks for. */
function dependenciesAreFresh(lock) {
  const installed = join(root, "node_modules", ".package-lock.json");
  if (!existsSync(installed)) return false;
  const wanted = JSON.parse(readFileSync(lock, "utf8")).packages;
  const found = JSON.parse(readFileSync(installed, "utf8")).packages;
  return Object.entries(wanted).every(([path, { version, optional }]) => {
    if (path === "") return true;
    // Optional packages are those of other platforms.
    return found[path] === undefined ? optional === true : found[path].version === version;
  });
}

function ensureDependencies() {
  const lock = join(root, "package-lock.json");
  if (!existsSync(lock)) return; // An installed npm package: npm has done this already.
  if (dependenciesAreFresh(lock)) return;
  say("installing dependencies (npm ci) ...");
  const { command, leading } = findNpm();
  const options = ["ci", "--no-fund", "--no-audit", "--loglevel=error"];
  const result = spawnSync(command, [...leading, ...options], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (result.error) fail(`npm could not be started: ${result.error.message}`);
  if (result.status !== 0) fail(`npm ci failed with exit code ${result.status}`);
}

/** In one step, and only where it differs: another command may be reading the same file. */
function replaceFile({ path, contents }) {
  if (existsSync(path) && readFileSync(path).equals(contents)) return;
  const unfinished = `${path}.${process.pid}`;
  writeFileSync(unfinished, contents);
  renameSync(unfinished, path);
}

/** Bundles the command line; esbuild takes a fraction of a second, so it is simply done each time. */
async function bundleCli() {
  const source = join(root, "cli", "main.ts");
  if (!existsSync(source)) return;
  const esbuild = await import("esbuild");
  const outdir = join(root, "build", "cli");
  const { outputFiles } = await esbuild.build({
    entryPoints: [source],
    outdir,
    write: false,
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
  mkdirSync(outdir, { recursive: true });
  // The entry comes last: it names chunks, whose names change with their content.
  const isEntry = ({ path }) => path === join(outdir, "main.mjs");
  for (const file of outputFiles) if (!isEntry(file)) replaceFile(file);
  outputFiles.filter(isEntry).forEach(replaceFile);
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
