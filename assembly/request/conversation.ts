// SPDX-License-Identifier: Apache-2.0
// Items in, turns out: runs, boundaries and the chain hash of one conversation, whatever its wire format.
import { fold } from "../hash/mix";
import { Boundaries } from "./boundaries";
import { Boundary, Request } from "./request";
import { Tally } from "./tally";
import { ITEM_TOKENS } from "./token-costs";

/** Start of every chain; the tenant is the first thing folded into it. */
const CHAIN: u64 = 0x6a09e667f3bcc909;

export class Conversation {
  /** Items of any author, those of the head included. */
  items: i32 = 0;
  /** Text of the items in the chain, the one at hand included. */
  readonly tally: Tally = new Tally();

  /** The same up to the last complete item. */
  private readonly complete: Tally = new Tally();
  private chain: u64 = 0;
  /** Items in the chain. Before the first one there is no boundary: every conversation would share it. */
  private chained: i32 = 0;
  private closedRuns: i32 = 0;
  private closedEndByte: i32 = -1;

  /** The open run, while model items come. */
  private inRun: bool = false;
  private runGenerated: bool = false;
  private runPrefill: bool = false;
  private runEndByte: i32 = -1;
  private hasBeforeRun: bool = false;
  private readonly beforeRun: Boundary = new Boundary();

  private readonly kept: Boundaries = new Boundaries();

  begin(tenant: u64): void {
    this.items = this.chained = this.closedRuns = 0;
    this.tally.clear();
    this.complete.clear();
    this.chain = fold(CHAIN, tenant);
    this.inRun = this.hasBeforeRun = false;
    this.closedEndByte = this.runEndByte = -1;
    this.kept.clear();
  }

  /** Only head items so far: a system item still belongs to them. */
  get isLeading(): bool {
    return this.chained == 0 && !this.inRun;
  }

  /** What was read of the item at hand does not count. */
  forgetText(): void {
    this.tally.copyFrom(this.complete);
  }

  /** An item that belongs to the head; its text moves to `headTally`. */
  addHeadItem(headTally: Tally): void {
    this.items++;
    this.tally.extraTokens += ITEM_TOKENS;
    headTally.add(this.tally);
    headTally.subtract(this.complete);
    this.forgetText();
  }

  /** An item that no model wrote. */
  addClientItem(value: u64): void {
    if (this.inRun) this.closeRun();
    this.extend(value);
  }

  /**
   * An item that a model wrote, up to `endByte` of the body.
   * @param generated it shows signs of a generation, so even at the end of the list it is no prefill
   * @param prefill it says itself that it is one
   */
  addModelItem(value: u64, endByte: i32, generated: bool, prefill: bool): void {
    if (!this.inRun) this.openRun();
    this.runGenerated = this.runGenerated || generated;
    this.runPrefill = prefill;
    this.runEndByte = endByte;
    this.extend(value);
  }

  /**
   * Fills in all that items say.
   * @param continues the request asks to continue the last item
   * @param isFollowed an item that is still open, and no model's, stands behind what was read
   */
  answer(request: Request, continues: bool, isFollowed: bool): void {
    const isAnswer = this.runGenerated && !this.runPrefill && !continues;
    const counted = this.inRun && (isAnswer || isFollowed);
    const runs = this.closedRuns + (counted ? 1 : 0);
    request.items = this.items;
    request.turn = this.items > 0 ? runs + 1 : 0;
    request.openRun = this.inRun && !counted;
    request.lastModelEndByte = counted ? this.runEndByte : this.closedEndByte;
    let open: Boundary | null = null;
    if (this.inRun && this.hasBeforeRun) {
      this.endRunBehind(this.beforeRun);
      open = this.beforeRun;
    }
    this.kept.list(request, open);
    if (this.chained == 0) return;
    this.fill(unchecked(request.boundaries[request.boundaryCount++]), runs);
  }

  private extend(value: u64): void {
    this.items++;
    this.tally.extraTokens += ITEM_TOKENS;
    this.complete.copyFrom(this.tally);
    // What has no content (a reasoning item) leaves no trace: clients drop it at will.
    if (value == 0) return;
    this.chained++;
    this.chain = fold(this.chain, value);
  }

  private openRun(): void {
    this.inRun = true;
    this.runGenerated = false;
    this.hasBeforeRun = this.chained > 0;
    this.fill(this.beforeRun, this.closedRuns);
  }

  private closeRun(): void {
    this.inRun = false;
    this.closedRuns++;
    this.closedEndByte = this.runEndByte;
    if (!this.hasBeforeRun) return;
    this.endRunBehind(this.beforeRun);
    this.kept.add(this.beforeRun);
  }

  private fill(boundary: Boundary, runs: i32): void {
    boundary.chain = this.chain;
    boundary.runs = runs;
    boundary.prefixBytes = this.complete.bytes;
    boundary.prefixTokens = this.complete.tokens;
    this.endRunBehind(boundary);
  }

  private endRunBehind(boundary: Boundary): void {
    boundary.afterRunBytes = this.complete.bytes;
    boundary.afterRunTokens = this.complete.tokens;
  }
}
