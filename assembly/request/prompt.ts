// SPDX-License-Identifier: Apache-2.0
// A rendered prompt, text or token ids: no turns, but a prefix that a longer prompt can share, block by block.
import { fold } from "../hash/mix";
import { Token } from "../json/sink";
import { Boundaries } from "./boundaries";
import { Boundary, Request } from "./request";
import { Tally } from "./tally";

/** Token ids of one block: a few blocks of an engine's prefix cache. */
const BLOCK_IDS: i32 = 64;
const PROMPT: u64 = 0x428a2f98d728ae22;

export class Prompt {
  /** Several prompts in one request are no conversation. */
  isBatch: bool = false;
  readonly tally: Tally = new Tally();

  private chain: u64 = 0;
  private seed: u64 = 0;
  private ids: i32 = 0;
  private isEmpty: bool = true;
  private readonly boundary: Boundary = new Boundary();
  private readonly kept: Boundaries = new Boundaries();

  begin(tenant: u64): void {
    this.seed = this.chain = fold(PROMPT, tenant);
    this.ids = 0;
    this.isBatch = false;
    this.isEmpty = true;
    this.tally.clear();
    this.kept.clear();
  }

  /** There is one prompt, and it says something. */
  get isSingle(): bool {
    return !this.isBatch && !this.isEmpty;
  }

  /** The text so far, at the end of a block. */
  addPiece(token: Token): void {
    this.takeText(token);
    this.kept.add(this.here());
  }

  addText(token: Token): void {
    if (token.bytes > 0) this.takeText(token);
  }

  addId(hash: u64): void {
    this.isEmpty = false;
    this.chain = fold(this.chain, hash);
    this.tally.extraTokens++;
    if (++this.ids % BLOCK_IDS == 0) this.kept.add(this.here());
  }

  answer(request: Request): void {
    request.items = 0;
    request.turn = 0;
    request.openRun = false;
    request.lastModelEndByte = -1;
    request.boundaryCount = 0;
    if (!this.isSingle) return;
    this.kept.list(request, null);
    request.boundaries[request.boundaryCount++].copyFrom(this.here());
  }

  private takeText(token: Token): void {
    this.isEmpty = false;
    this.chain = fold(this.seed, token.hash);
    this.tally.clear();
    this.tally.addText(token);
  }

  private here(): Boundary {
    const boundary = this.boundary;
    boundary.chain = this.chain;
    boundary.runs = 0;
    boundary.prefixBytes = boundary.afterRunBytes = this.tally.bytes;
    boundary.prefixTokens = boundary.afterRunTokens = this.tally.tokens;
    return boundary;
  }
}
