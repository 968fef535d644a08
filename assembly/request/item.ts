// SPDX-License-Identifier: Apache-2.0
// What is known of the item at hand besides the hash of its members: who wrote it, and which ids count.
import { mix } from "../hash/mix";
import { Mark } from "./place";


@final
export class Item {
  /** Its object has begun and not ended. */
  isOpen: bool = false;
  role: Mark = Mark.None;
  /** The role was told; one that says no mark is some client's. */
  hasRole: bool = false;
  type: Mark = Mark.None;
  /** Something in it shows that a model wrote it. */
  generated: bool = false;
  /** It says itself that it is the beginning of an answer. */
  prefill: bool = false;
  /** A search for tools ran where the model runs. */
  ranOnServer: bool = false;
  /** Members that count only on some items, kept apart until it is known which item this is. */
  ownId: u64 = 0;
  sealed: u64 = 0;
  referenceId: u64 = 0;

  begin(): void {
    this.isOpen = true;
    this.hasRole = false;
    this.role = this.type = Mark.None;
    this.generated = this.prefill = this.ranOnServer = false;
    this.ownId = this.sealed = this.referenceId = 0;
  }

  copyFrom(other: Item): void {
    if (offsetof<Item>() != 48) ERROR("an item has more fields, or fewer");
    const to = changetype<usize>(this);
    const from = changetype<usize>(other);
    v128.store(to, v128.load(from));
    v128.store(to, v128.load(from, 16), 16);
    v128.store(to, v128.load(from, 32), 32);
  }

  /** An item without members other than ids refers to one that the server holds. */
  end(members: i32): void {
    this.isOpen = false;
    const isUntyped = this.type == Mark.None && this.role == Mark.None;
    const saysMore = members != 0 || this.ownId != 0;
    if (isUntyped && !saysMore && this.referenceId != 0) this.type = Mark.ReferenceItem;
  }

  /** Model, System or anything else for the client: the type says so, or for messages the role. */
  get author(): Mark {
    switch (this.type) {
      case Mark.Model:
      case Mark.Client:
        return this.type;
      case Mark.ReasoningItem:
      case Mark.CompactionItem:
      case Mark.ReferenceItem:
        return Mark.Model;
      case Mark.SearchOutput:
        return this.ranOnServer ? Mark.Model : Mark.Client;
      default:
        return this.role;
    }
  }

  takeRole(mark: Mark): void {
    this.role = mark;
    this.hasRole = true;
  }

  /** What was read of the open item shows that no model wrote it, whatever comes. */
  get isOpenClients(): bool {
    if (!this.isOpen) return false;
    if (this.type == Mark.Client) return true;
    const roleDecides = this.type == Mark.None || this.type == Mark.Message;
    return roleDecides && this.hasRole && this.role != Mark.Model;
  }

  /** Hash of the item from the sum of its members; 0 for one that leaves no trace. */
  valueOf(sum: u64): u64 {
    if (this.type == Mark.ReasoningItem) return 0;
    if (this.author != Mark.Model) sum += this.ownId;
    if (this.type == Mark.CompactionItem) sum += this.sealed;
    if (this.type == Mark.ReferenceItem) sum += this.referenceId;
    return sum != 0 ? mix(sum) : 0;
  }
}
