// SPDX-License-Identifier: Apache-2.0
// What a request path says about the body behind it. The keys of the body have the last word on the format.

export enum PathKind {
  /** No model runs, or nothing is known of it: the body is not looked at. */
  Leave = 0,
  Chat = 1,
  Responses = 2,
  /** The history goes in and its summary comes out: goes home, is no turn. */
  Compact = 3,
  Messages = 4,
  Completions = 5,
  /** A path that is not in the table. Left alone unless the operator wants every JSON body scanned. */
  Unknown = 6,
}

/** Whether bodies of this kind are scanned by default. */
export function isScanned(kind: PathKind): bool {
  return kind != PathKind.Leave && kind != PathKind.Unknown;
}

const SLASH: u8 = 0x2f;
const QUESTION: u8 = 0x3f;


@final
class PathRow {
  /** The last four bytes, in which nearly all paths differ. */
  readonly last: u32;

  constructor(
    readonly suffix: ArrayBuffer,
    readonly kind: PathKind,
  ) {
    this.last = load<u32>(changetype<usize>(suffix) + suffix.byteLength - 4);
  }
}

const ROWS: PathRow[] = [];
row("/chat/completions", PathKind.Chat);
row("/responses/compact", PathKind.Compact);
row("/responses", PathKind.Responses);
row("/messages", PathKind.Messages);
row("/completions", PathKind.Completions);
// The same bodies where no model runs: rendering, counting, embedding.
row("/chat/completions/render", PathKind.Leave);
row("/completions/render", PathKind.Leave);
row("/messages/count_tokens", PathKind.Leave);
row("/messages/batches", PathKind.Leave);
row("/responses/input_tokens", PathKind.Leave);
row("/tokenize", PathKind.Leave);
row("/detokenize", PathKind.Leave);
row("/embeddings", PathKind.Leave);
row("/rerank", PathKind.Leave);
row("/score", PathKind.Leave);
row("/classify", PathKind.Leave);
row("/pooling", PathKind.Leave);
row("/moderations", PathKind.Leave);
row("/conversations", PathKind.Leave);

function row(suffix: string, kind: PathKind): void {
  ROWS.push(new PathRow(String.UTF8.encode(suffix), kind));
}

/** Matches the longest known suffix of a path; query and trailing slashes do not count. */
export function classifyPath(address: usize, size: i32): PathKind {
  const end = trimmedSize(address, size);
  let kind = PathKind.Unknown;
  let longest = 0;
  if (end < 4) return kind;
  const last = load<u32>(address + end - 4);
  for (let i = 0, count = ROWS.length; i < count; i++) {
    const row = unchecked(ROWS[i]);
    if (row.last != last) continue;
    const bytes = row.suffix.byteLength;
    if (bytes <= longest || !endsWith(address, end, row.suffix)) continue;
    longest = bytes;
    kind = row.kind;
  }
  return kind;
}

/** Path ends that the operator wants scanned as well; what they hold is told by the keys of the body. */
export class ExtraPaths {
  private readonly suffixes: ArrayBuffer[] = [];

  constructor(suffixes: string[]) {
    for (let i = 0; i < suffixes.length; i++) this.suffixes.push(String.UTF8.encode(suffixes[i]));
  }

  matches(address: usize, size: i32): bool {
    const end = trimmedSize(address, size);
    for (let i = 0; i < this.suffixes.length; i++) {
      if (endsWith(address, end, this.suffixes[i])) return true;
    }
    return false;
  }
}

function endsWith(address: usize, size: i32, suffix: ArrayBuffer): bool {
  const bytes = suffix.byteLength;
  if (bytes > size) return false;
  return memory.compare(address + size - bytes, changetype<usize>(suffix), bytes) == 0;
}

function trimmedSize(address: usize, size: i32): i32 {
  let end = 0;
  while (end < size && load<u8>(address + end) != QUESTION) end++;
  while (end > 0 && load<u8>(address + end - 1) == SLASH) end--;
  return end;
}
