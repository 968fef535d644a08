// SPDX-License-Identifier: Apache-2.0
// Finds the known name that somebody probably meant.

/** Names are short; more characters than this are not compared. */
const MAX_NAME: i32 = 64;

/** Single-character edits between two names (Levenshtein), one row at a time. */
function editDistance(a: string, b: string): i32 {
  const width = min(b.length, MAX_NAME);
  const height = min(a.length, MAX_NAME);
  const row = new StaticArray<i32>(width + 1);
  for (let x = 0; x <= width; x++) row[x] = x;
  for (let y = 1; y <= height; y++) {
    let diagonal = row[0];
    row[0] = y;
    for (let x = 1; x <= width; x++) {
      const same = a.charCodeAt(y - 1) == b.charCodeAt(x - 1);
      const replaced = diagonal + (same ? 0 : 1);
      diagonal = row[x];
      row[x] = min(replaced, min(row[x], row[x - 1]) + 1);
    }
  }
  return row[width];
}

/** A forgotten or added ending or group (`hold_cap`, `enabled`) is a small mistake however long it is. */
function distance(name: string, known: string): i32 {
  if (known.endsWith("." + name)) return 0;
  if (name.length >= 4 && (known.startsWith(name) || name.startsWith(known))) return 1;
  return editDistance(name, known);
}

/** The known name nearest to `name`; the first of equals. `known` is not empty. */
export function nearestName(name: string, known: string[]): string {
  let best = known[0];
  let least = distance(name, best);
  for (let i = 1; i < known.length; i++) {
    const candidate = distance(name, known[i]);
    if (candidate >= least) continue;
    least = candidate;
    best = known[i];
  }
  return best;
}
