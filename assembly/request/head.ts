// SPDX-License-Identifier: Apache-2.0
// The head of a prompt: tools, system text and what else is rendered before the first user item.
import { fold } from "../hash/mix";
import { HeadSection } from "./head-section";
import { Request } from "./request";

const TOOLS: u64 = 0x3c6ef372fe94f82b;
const SYSTEM: u64 = 0xa54ff53a5f1d36f1;
const LEADING: u64 = 0x510e527fade682d1;

/** Its sections are keys of the body in any order, so each has its own hashes until the end. */
export class Head {
  readonly tools: HeadSection = new HeadSection(TOOLS);
  readonly system: HeadSection = new HeadSection(SYSTEM);
  /** System items in front of the conversation. */
  readonly leading: HeadSection = new HeadSection(LEADING);
  private extras: u64 = 0;

  clear(): void {
    this.tools.clear();
    this.system.clear();
    this.leading.clear();
    this.extras = 0;
  }

  /** A member of the body that templates may render; their order does not matter. */
  addExtra(value: u64): void {
    this.extras += value;
  }

  /** @param tenant seeds the hashes: what another tenant's prompt begins with draws nobody anywhere */
  answer(request: Request, tenant: u64): void {
    const extras = fold(this.extras, tenant);
    const tools = this.tools;
    const system = this.system;
    const leading = this.leading;
    request.head = fold(fold(fold(tools.hash, system.hash), leading.hash), extras);
    request.headBytes = tools.tally.bytes + system.tally.bytes + leading.tally.bytes;
    request.headTokens = tools.tally.tokens + system.tally.tokens + leading.tally.tokens;
    request.headPieceCount = 0;
    // Most templates print the system text before the tools. What is in front counts for each section, even
    // where it has no pieces.
    let before = extras;
    system.listPieces(request, before);
    before = fold(before, system.hash);
    leading.listPieces(request, before);
    tools.listPieces(request, fold(before, leading.hash));
  }
}
