// SPDX-License-Identifier: Apache-2.0
// The head of a prompt: tools, system text and what else is rendered before the first user item.
import { fold } from "../hash/mix";
import { Request } from "./request";
import { Tally } from "./tally";

const TOOLS: u64 = 0x3c6ef372fe94f82b;
const SYSTEM: u64 = 0xa54ff53a5f1d36f1;
const LEADING: u64 = 0x510e527fade682d1;

/** Its parts are keys of the body in any order, so each has its own hash until the end. */
export class Head {
  readonly tools: Tally = new Tally();
  readonly system: Tally = new Tally();
  readonly leading: Tally = new Tally();
  private toolsHash: u64 = 0;
  private systemHash: u64 = 0;
  private leadingHash: u64 = 0;
  private extras: u64 = 0;

  clear(): void {
    this.clearTools();
    this.clearSystem();
    this.clearLeading();
    this.extras = 0;
  }

  clearTools(): void {
    this.toolsHash = TOOLS;
    this.tools.clear();
  }

  clearSystem(): void {
    this.systemHash = SYSTEM;
    this.system.clear();
  }

  /** System items in front of the conversation. */
  clearLeading(): void {
    this.leadingHash = LEADING;
    this.leading.clear();
  }

  addTool(value: u64): void {
    this.toolsHash = fold(this.toolsHash, value);
  }

  addSystemPart(value: u64): void {
    this.systemHash = fold(this.systemHash, value);
  }

  addLeadingItem(value: u64): void {
    this.leadingHash = fold(this.leadingHash, value);
  }

  addExtra(value: u64): void {
    this.extras += value;
  }

  answer(request: Request): void {
    request.head = fold(fold(fold(this.toolsHash, this.systemHash), this.leadingHash), this.extras);
    request.headBytes = this.tools.bytes + this.system.bytes + this.leading.bytes;
    request.headTokens = this.tools.tokens + this.system.tokens + this.leading.tokens;
  }
}
