// SPDX-License-Identifier: Apache-2.0
// Compares the streaming reader with the plain one, body by body, and keeps what differs.
import type { Answer, ReaderModule } from "../../../lab/bench/reader-module.ts";
import { damage, makeBody, write } from "./conversations.ts";
import { Random } from "./random.ts";
import { hasRepeatedKey, type Reference, readReference } from "./reference-reader.ts";

/** Places of Reading in assembly/request/request.ts. */
const CONVERSATION = 1;
const NOT_CONVERSATION = 3;

const COUNTS = ["turn", "items", "openRun"] as const;
const NUMBERS = [...COUNTS, "headBytes", "promptBytes"] as const;

/** The streaming reader takes what Python clients write for numbers that are not finite. */
const NOT_FINITE = /NaN|Infinity/;
/** The body as it was written, and four damaged ones. */
export const BODIES_PER_SEED = 5;
const MAX_KEPT_BOUNDARIES = 20;
const RECENT = 4;

export interface Difference {
  seed: number;
  faults: string[];
  body: string;
}

/** Equal texts must have equal hashes, and equal hashes equal texts. */
class Classes {
  private readonly byText = new Map<string, bigint>();
  private readonly byHash = new Map<bigint, string>();

  constructor(private readonly name: string) {}

  check(text: string, hash: bigint): string[] {
    const faults: string[] = [];
    const knownHash = this.byText.get(text);
    const knownText = this.byHash.get(hash);
    if (knownHash !== undefined && knownHash !== hash)
      faults.push(`${this.name}: same text, two hashes: ${text}`);
    if (knownText !== undefined && knownText !== text) {
      faults.push(`${this.name}: one hash, two texts:\n${knownText}\n${text}`);
    }
    this.byText.set(text, hash);
    this.byHash.set(hash, text);
    if (this.byText.size > 50_000) {
      this.byText.clear();
      this.byHash.clear();
    }
    return faults;
  }
}

/** Which of the boundaries of a conversation are kept: powers of two, the last four, the end. */
function keptOf<T>(boundaries: T[]): T[] {
  const end = boundaries.slice(-1);
  const inner = boundaries.slice(0, -1);
  const firstRecent = Math.max(1, inner.length - RECENT + 1);
  const kept = inner.filter((_, index) => {
    const number = index + 1;
    return number >= firstRecent || (number & (number - 1)) === 0;
  });
  return [...kept, ...end].slice(0, MAX_KEPT_BOUNDARIES);
}

export class Differential {
  private readonly chains = new Classes("chain");
  private readonly heads = new Classes("head");

  constructor(private readonly reader: ReaderModule) {}

  /**
   * Plays one seed: a body, written somehow, then damaged in several ways, each cut somehow.
   * @returns what differs, each with the shortest body that was found to show it
   */
  play(seed: number): Difference[] {
    const random = new Random(seed);
    const { path, body: made } = makeBody(random);
    const whole = Buffer.from(write(made, random));
    const bodies: Uint8Array[] = [whole];
    while (bodies.length < BODIES_PER_SEED) bodies.push(damage(whole, random));
    return bodies.flatMap((body) => {
      const answer = this.reader.read(body, { path, chunks: chunksOf(body.length, random) });
      const faults = this.compare(body, answer);
      return faults.length > 0 ? [{ seed, faults, body: this.shrink(body, path) }] : [];
    });
  }

  /** Leaves out what is not needed for a body to be read differently. */
  private shrink(body: Uint8Array, path: string): string {
    // With classes of its own: what is tried here must not stand for what was seen.
    const alone = new Differential(this.reader);
    const differs = (bytes: Uint8Array) =>
      alone.compare(bytes, this.reader.read(bytes, { path })).length > 0;
    let shortest = body;
    if (!differs(shortest)) return Buffer.from(body).toString(); // The cut or an earlier body matters.
    for (let size = shortest.length >> 1; size > 0; size >>= 1) {
      for (let at = 0; at + size <= shortest.length;) {
        const shorter = Buffer.concat([shortest.subarray(0, at), shortest.subarray(at + size)]);
        if (differs(shorter)) shortest = shorter;
        else at += size;
      }
    }
    return Buffer.from(shortest).toString();
  }

  private compare(body: Uint8Array, answer: Answer): string[] {
    const text = Buffer.from(body).toString();
    const reference = readReference(body);
    if (reference === null) {
      const accepted = answer.reading === CONVERSATION || answer.reading === NOT_CONVERSATION;
      return accepted && !NOT_FINITE.test(text) ? ["accepted a document that is no JSON"] : [];
    }
    if (answer.ambiguous || hasRepeatedKey(text)) return [];
    // Bytes that are not UTF-8 are replaced by JSON.parse and kept by the streaming reader.
    const isText = Buffer.from(text).equals(body);
    const faults = compareNumbers(reference, answer, isText ? NUMBERS : COUNTS);
    if (!isText || faults.length > 0) return faults;
    faults.push(...this.heads.check(reference.head, answer.head));
    return [...faults, ...this.compareBoundaries(reference, answer)];
  }

  private compareBoundaries(reference: Reference, answer: Answer): string[] {
    const kept = keptOf(reference.boundaries);
    if (kept.length !== answer.boundaries.length) {
      return [`boundaries: ${kept.length} expected, ${answer.boundaries.length} found`];
    }
    return kept.flatMap((boundary, at) => {
      const found = answer.boundaries[at]!;
      const faults = this.chains.check(boundary.chain, found.chain);
      if (boundary.runs !== found.runs) faults.push(`runs at boundary ${at}`);
      if (boundary.prefixBytes !== found.prefixBytes) faults.push(`bytes at boundary ${at}`);
      return faults;
    });
  }
}

function compareNumbers(
  reference: Reference,
  answer: Answer,
  names: readonly (typeof NUMBERS)[number][],
): string[] {
  return names
    .filter((name) => reference[name] !== answer[name])
    .map((name) => `${name}: ${reference[name]} expected, ${answer[name]} found`);
}

function chunksOf(bytes: number, random: Random): number[] {
  const kind = random.below(10);
  if (kind < 4) return [];
  if (kind < 7) return [random.below(bytes + 1), random.below(bytes + 1)];
  const size = 1 + random.below(kind === 9 ? 8 : 200);
  return new Array<number>(Math.ceil(bytes / size)).fill(size);
}
