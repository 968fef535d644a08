// SPDX-License-Identifier: Apache-2.0
// Files and folders that commands write their results to: refused before the work begins, and with one clear line.
import { accessSync, constants, existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { Failure } from "./failure.ts";

function reasonOf(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault);
}

/**
 * Makes sure, before the work begins, that its result can be written; writes nothing.
 * @param flag the flag that names the file, without dashes
 * @throws Failure when the folder is missing, or folder or file are not writable
 */
export function requireWritable(flag: string, path: string | undefined): void {
  if (path === undefined) return;
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) throw new Error("it is a folder");
    if (found === undefined) {
      const folder = dirname(path);
      if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
        throw new Error(`there is no folder ${folder}`);
      }
      accessSync(folder, constants.W_OK | constants.X_OK);
    } else accessSync(path, constants.W_OK);
  } catch (fault) {
    throw new Failure(`--${flag} ${path}: cannot be written: ${reasonOf(fault)}`);
  }
}

/**
 * Makes sure, before the work begins, that files can be written into a folder that may have to be made; makes nothing.
 * @param flag the flag that names the folder, without dashes
 * @throws Failure when the name is empty, or what stands on the way is no folder or not writable
 */
export function requireFolder(flag: string, path: string): void {
  try {
    if (path === "") throw new Error("the name is empty");
    let nearest = resolve(path);
    while (!existsSync(nearest)) nearest = dirname(nearest);
    if (!statSync(nearest).isDirectory()) throw new Error(`${nearest} is no folder`);
    accessSync(nearest, constants.W_OK | constants.X_OK);
  } catch (fault) {
    throw new Failure(`--${flag} ${path}: cannot be written: ${reasonOf(fault)}`);
  }
}

/**
 * Makes a folder with those that it lies in. One by one: where the system refuses one with "not found", as /proc does,
 * `mkdir` with `recursive` tries for ever (Node 20).
 * @throws Failure when one of them cannot be made
 */
export function makeFolder(flag: string, path: string): void {
  const missing: string[] = [];
  for (let folder = resolve(path); !existsSync(folder); folder = dirname(folder)) {
    missing.unshift(folder);
  }
  try {
    for (const folder of missing) mkdirSync(folder);
  } catch (fault) {
    throw new Failure(`--${flag} ${path}: cannot be written: ${reasonOf(fault)}`);
  }
}

/** @throws Failure when the file cannot be written after all */
export function writeOutput(flag: string, path: string, content: string | Uint8Array): void {
  try {
    writeFileSync(path, content);
  } catch (fault) {
    throw new Failure(`--${flag} ${path}: cannot be written: ${reasonOf(fault)}`);
  }
}

/** Writes a value as indented JSON. @throws Failure when the file cannot be written after all */
export function writeJson(flag: string, path: string, value: unknown): void {
  writeOutput(flag, path, `${JSON.stringify(value, null, 2)}\n`);
}
