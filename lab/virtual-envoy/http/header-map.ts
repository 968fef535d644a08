// SPDX-License-Identifier: Apache-2.0
// HTTP headers as Envoy keeps them: lower-case names, order of arrival, repeated names allowed.

export type HeaderPair = [name: string, value: string];

/** Headers as a driver may give them; a list keeps order and repetition. */
export type HeaderInput = Record<string, string> | Iterable<readonly [string, string]>;

/** One character per byte: what is beyond Latin-1 goes as its UTF-8 bytes. */
function toByteString(text: string): string {
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) > 0xff) return Buffer.from(text, "utf8").toString("latin1");
  }
  return text;
}

export class HeaderMap {
  private pairs: HeaderPair[] = [];

  static from(input: HeaderInput): HeaderMap {
    const map = new HeaderMap();
    const pairs = Symbol.iterator in input ? input : Object.entries(input);
    for (const [name, value] of pairs as Iterable<readonly [string, string]>) map.add(name, value);
    return map;
  }

  get size(): number {
    return this.pairs.length;
  }

  /** Sum of name and value lengths: what Envoy calls the map's byte size. */
  get byteSize(): number {
    return this.pairs.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  }

  entries(): readonly HeaderPair[] {
    return this.pairs;
  }

  /** The first value of `name`, or undefined. */
  get(name: string): string | undefined {
    const lower = name.toLowerCase();
    for (const pair of this.pairs) if (pair[0] === lower) return pair[1];
    return undefined;
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  add(name: string, value: string): void {
    this.pairs.push([toByteString(name.toLowerCase()), toByteString(value)]);
  }

  /** Replaces all values of `name` by one. */
  set(name: string, value: string): void {
    const lower = toByteString(name.toLowerCase());
    const index = this.pairs.findIndex((pair) => pair[0] === lower);
    if (index < 0) {
      this.pairs.push([lower, toByteString(value)]);
      return;
    }
    this.pairs[index] = [lower, toByteString(value)];
    this.pairs = this.pairs.filter((pair, at) => at <= index || pair[0] !== lower);
  }

  remove(name: string): void {
    const lower = name.toLowerCase();
    if (!this.has(lower)) return;
    this.pairs = this.pairs.filter((pair) => pair[0] !== lower);
  }

  replaceAll(pairs: Iterable<readonly [string, string]>): void {
    this.pairs = [];
    for (const [name, value] of pairs) this.add(name, value);
  }

  clone(): HeaderMap {
    const copy = new HeaderMap();
    copy.pairs = this.pairs.map(([name, value]) => [name, value]);
    return copy;
  }

  /** First value per name, for comparison in tests. */
  toObject(): Record<string, string> {
    const object: Record<string, string> = {};
    for (const [name, value] of this.pairs) object[name] ??= value;
    return object;
  }
}
