// SPDX-License-Identifier: Apache-2.0
// The table of priority schemes: which class stands behind each name of the configuration.
import { Astraea } from "./astraea";
import { Atlas } from "./atlas";
import { Plas } from "./plas";
import { ProgramFcfs } from "./program-fcfs";
import { Scheme } from "./scheme";

/** A new scheme of that name, or null where requests get no priority. */
export function schemeNamed(name: string): Scheme | null {
  if (name == "plas") return new Plas();
  if (name == "atlas") return new Atlas();
  if (name == "astraea") return new Astraea();
  if (name == "program-fcfs") return new ProgramFcfs();
  return null;
}
