// SPDX-License-Identifier: Apache-2.0
// Where things lie in a checkout or an installed package.
import { join } from "node:path";

/** Absolute path of the package root, set by the launcher. */
export const root: string = process.env["SMETRIC_ROOT"] ?? process.cwd();

/** Absolute path of a file below the package root. */
export function fromRoot(...parts: string[]): string {
  return join(root, ...parts);
}
