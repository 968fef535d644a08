// SPDX-License-Identifier: Apache-2.0
// Answers of the Responses API, kept in the process that gave them: another endpoint answers 404.
import { type Json } from "./json.ts";

export interface StoredResponse {
  response: Json;
  /** Everything that a follow-up continues from: the input items of all turns and the output. */
  items: unknown[];
}

const MAX_RESPONSES = 10_000;

/** Oldest out. vLLM's own store never forgets, which a long test run should not copy. */
export class ResponseStore {
  private readonly stored = new Map<string, StoredResponse>();

  get(id: string): StoredResponse | undefined {
    return this.stored.get(id);
  }

  add(id: string, entry: StoredResponse): void {
    this.stored.set(id, entry);
    if (this.stored.size <= MAX_RESPONSES) return;
    for (const oldest of this.stored.keys()) {
      this.stored.delete(oldest);
      return;
    }
  }

  delete(id: string): boolean {
    return this.stored.delete(id);
  }

  clear(): void {
    this.stored.clear();
  }
}
