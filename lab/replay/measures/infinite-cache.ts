// SPDX-License-Identifier: Apache-2.0
// The best any routing could do: one engine with an infinite prefix cache that sees every call in order.

/** Remembers every block that any endpoint of an arm has held. */
export class InfiniteCache {
  private readonly blocks = new Set<number>();

  constructor(private readonly blockTokens: number) {}

  /**
   * Prompt tokens that the cache holds when the call arrives. As in an engine, at least the last token is computed.
   * @param hashes chained hashes of the prompt's full blocks
   */
  find(hashes: ArrayLike<number>, promptTokens: number): number {
    let count = 0;
    while (count < hashes.length && this.blocks.has(hashes[count]!)) count++;
    const most = Math.floor(Math.max(0, promptTokens - 1) / this.blockTokens);
    return Math.min(count, most) * this.blockTokens;
  }

  /** Adds all blocks of a prompt or of a prompt with its answer. */
  add(hashes: ArrayLike<number>): void {
    for (let i = hashes.length - 1; i >= 0; i--) {
      if (this.blocks.has(hashes[i]!)) return; // Chained: what comes before is known as well.
      this.blocks.add(hashes[i]!);
    }
  }
}
