// SPDX-License-Identifier: Apache-2.0
// Who sends a request: session, parent and program, as its headers tell.
import { fold } from "../hash/mix";
import { hashText } from "../hash/text";
import { HeaderRole, HeaderRule, HeaderRules } from "./header-rules";
import { IdForm, sessionFieldName } from "./session-fields";
import { idHash } from "./session-id";

/** `Request.sessionSource`: no id, the session is known by its chain alone. */
export const SOURCE_CHAIN: i32 = 0;
/** Sources from here on are header rules, by index. */
export const SOURCE_HEADER: i32 = 1;
/** Sources from here on are fields of the body, by rank. */
export const SOURCE_BODY: i32 = 1_000;

const MAX_DIGITS: i32 = 6;
const NOT_TOLD: i32 = i32.MAX_VALUE;

/** Ids are hashes of field name and text, not yet scoped by tenant and model. One per stream, pooled. */
export class Identity {
  /** Hash of the best session id, and the index of its rule. */
  session: u64 = 0;
  rank: i32 = NOT_TOLD;
  /** The session that started this one, keyed as that one keys itself. */
  parent: u64 = 0;
  /** The session that sub-agents share, if one is told. */
  root: u64 = 0;
  /** Turn that the client tells, or 0. A hint: it decides only where the body cannot. */
  turn: i32 = 0;
  isFinal: bool = false;
  /** Tries before this one. */
  retries: i32 = 0;
  /** A request beside the conversation. */
  isSide: bool = false;

  private rootRank: i32 = NOT_TOLD;
  private parentRank: i32 = NOT_TOLD;

  reset(): void {
    this.session = this.parent = this.root = 0;
    this.rank = this.rootRank = this.parentRank = NOT_TOLD;
    this.turn = this.retries = 0;
    this.isFinal = this.isSide = false;
  }

  get isTold(): bool {
    return this.rank != NOT_TOLD;
  }

  /** Takes one header. Of a repeated header the first value counts. 64 bytes behind the name must be readable. */
  header(rules: HeaderRules, name: usize, nameSize: i32, value: usize, valueSize: i32): void {
    if (!rules.mayName(name, nameSize)) return;
    const index = rules.find(name, nameSize, hashText(name, nameSize));
    if (index < 0) return;
    const rule = unchecked(rules.rules[index]);
    switch (rule.role) {
      case HeaderRole.Turn:
        if (this.turn == 0) this.turn = numberOf(value, valueSize);
        return;
      case HeaderRole.Retry:
        this.retries = numberOf(value, valueSize);
        return;
      case HeaderRole.Final:
        this.isFinal = this.isFinal || isYes(value, valueSize);
        return;
      case HeaderRole.Side:
        this.isSide = this.isSide || isValue(rule, value, valueSize);
        return;
      case HeaderRole.SideMetadata:
        this.isSide = this.isSide || contains(value, valueSize, COMPACTION);
        return;
      default:
        this.takeId(rule, index, value, valueSize);
    }
  }

  private takeId(rule: HeaderRule, index: i32, value: usize, valueSize: i32): void {
    const id = idHash(value, valueSize, IdForm.Plain);
    if (id == 0) return;
    const key = fold(rule.field, id);
    if (rule.role == HeaderRole.Parent) {
      if (index >= this.parentRank) return;
      this.parentRank = index;
      this.parent = key;
      return;
    }
    if (rule.role == HeaderRole.Root && index < this.rootRank) {
      this.rootRank = index;
      this.root = key;
    }
    if (index >= this.rank) return;
    this.rank = index;
    this.session = key;
  }
}

/** Name of a session source as records and `inspect` write it. */
export function sourceName(source: i32, rules: HeaderRules | null = null): string {
  if (source == SOURCE_CHAIN) return "chain";
  if (source >= SOURCE_BODY) return "body " + sessionFieldName(source - SOURCE_BODY);
  return rules !== null ? rules.rules[source - SOURCE_HEADER].name : "header";
}

/** A decimal number of at most six digits, or 0. */
function numberOf(address: usize, size: i32): i32 {
  if (size > MAX_DIGITS) return 0;
  let number = 0;
  for (let i = 0; i < size; i++) {
    const digit = <i32>load<u8>(address + i) - 0x30;
    if (digit < 0 || digit > 9) return 0;
    number = number * 10 + digit;
  }
  return number;
}

const TRUE = String.UTF8.encode("true");
const ONE: u8 = 0x31;

function isYes(address: usize, size: i32): bool {
  if (size == 1) return load<u8>(address) == ONE;
  return size == TRUE.byteLength && memory.compare(address, changetype<usize>(TRUE), size) == 0;
}

/** How Codex marks the call that writes a summary of the history. */
const COMPACTION = String.UTF8.encode('"request_kind":"compaction"');

function contains(address: usize, size: i32, wanted: ArrayBuffer): bool {
  const bytes = wanted.byteLength;
  for (let at = 0; at + bytes <= size; at++) {
    if (memory.compare(address + at, changetype<usize>(wanted), bytes) == 0) return true;
  }
  return false;
}

function isValue(rule: HeaderRule, address: usize, size: i32): bool {
  if (rule.value.length == 0) return isYes(address, size);
  if (size != rule.value.length) return false;
  for (let i = 0; i < size; i++) {
    if (<i32>load<u8>(address + i) != rule.value.charCodeAt(i)) return false;
  }
  return true;
}
