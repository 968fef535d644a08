// SPDX-License-Identifier: Apache-2.0
// Text made to length: looks like source code and tool output, the same for the same key.
import { chance } from "../workloads/random.ts";

const CORPUS_CHARACTERS = 1 << 18;
const WORDS =
  "request session buffer endpoint cache token prefix stream turn agent index table value result error node item map list path config handler parse write read close open".split(
    " ",
  );
const NEWLINE = 10;

/** One line of something like code: brackets, quotes, escapes, tabs and now and then a non-ASCII letter. */
function lineOf(draw: (bound: number) => number): string {
  const word = (): string => WORDS[draw(WORDS.length)]!;
  const indent = "\t".repeat(draw(4));
  switch (draw(7)) {
    case 0:
      return `${indent}const ${word()}${draw(100)} = ${word()}.${word()}("${word()}-${draw(10_000)}");`;
    case 1:
      return `${indent}if (${word()} !== ${word()}[${draw(64)}]) { return "${word()}\\n"; }`;
    case 2:
      return `${indent}// ${word()} ${word()} ${word()} before the ${word()} ${word()} — see ${word()}.ts`;
    case 3:
      return `{"${word()}": ${draw(99999)}, "${word()}": "C:\\\\${word()}\\\\${word()}", "ok": true}`;
    case 4:
      return `src/${word()}/${word()}.ts:${draw(900)}:${draw(80)}: ${word()} "${word()}" ${word()}`;
    case 5:
      return `${indent}${word()}.forEach((${word()}) => ${word()}(${word()}, ${draw(1000)}));`;
    default:
      return `${indent}\u201c${word()} ${word()}\u201d: größer als ${draw(100_000)} ✓`;
  }
}

function buildCorpus(): string {
  const draws = chance(1, "prose");
  const lines: string[] = [];
  for (let size = 0; size < CORPUS_CHARACTERS;) {
    const line = lineOf(draws.below);
    lines.push(line);
    size += line.length + 1;
  }
  return `${lines.join("\n")}\n`;
}

let corpus: string | undefined;

/** `characters` of text for a key, or the key itself where that is longer: different keys give different texts. */
export function prose(key: number, characters: number): string {
  corpus ??= buildCorpus();
  const mark = `${key.toString(36)} `;
  if (characters <= mark.length) return mark;
  // A multiplicative hash scatters neighbouring keys over the corpus; it starts at the next line.
  const offset = Math.imul(key + 1, 0x9e3779b1) >>> 14;
  let at = (offset % corpus.length) + 1;
  while (at < corpus.length && corpus.charCodeAt(at - 1) !== NEWLINE) at++;
  let text = mark + corpus.slice(at, at + characters);
  while (text.length < characters) text += corpus.slice(0, characters - text.length);
  return text.slice(0, characters);
}
