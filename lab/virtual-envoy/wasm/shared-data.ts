// SPDX-License-Identifier: Apache-2.0
// proxy-wasm shared data: one map per vm_id for all VMs of the process, with compare-and-swap versions.
import { Status } from "./abi.ts";

export interface SharedValue {
  bytes: Uint8Array;
  cas: number;
}

/** Keys can be set but, as in the real ABI, never deleted or listed by the guest. */
export class SharedData {
  private readonly stores = new Map<string, Map<string, SharedValue>>();
  private lastCas = 0;

  get(vmId: string, key: string): SharedValue | undefined {
    return this.stores.get(vmId)?.get(key);
  }

  /** Copies `bytes`. `cas` 0 sets unconditionally; a set on a missing key ignores `cas`. */
  set(vmId: string, key: string, bytes: Uint8Array, cas: number): Status {
    const store = this.store(vmId);
    const current = store.get(key);
    if (current === undefined) {
      store.set(key, { bytes: new Uint8Array(bytes), cas: this.nextCas() });
      return Status.Ok;
    }
    if (cas !== 0 && cas !== current.cas) return Status.CasMismatch;
    if (current.bytes.length === bytes.length) current.bytes.set(bytes);
    else current.bytes = new Uint8Array(bytes);
    current.cas = this.nextCas();
    return Status.Ok;
  }

  /** Number of keys and bytes of keys and values of one vm_id: what the real host would hold. */
  usage(vmId: string): { keys: number; bytes: number } {
    const store = this.store(vmId);
    let bytes = 0;
    for (const [key, value] of store) bytes += key.length + value.bytes.length;
    return { keys: store.size, bytes };
  }

  keys(vmId: string): string[] {
    return [...this.store(vmId).keys()];
  }

  private store(vmId: string): Map<string, SharedValue> {
    let store = this.stores.get(vmId);
    if (store === undefined) this.stores.set(vmId, (store = new Map<string, SharedValue>()));
    return store;
  }

  /** One counter for all keys; 0 is never a version. */
  private nextCas(): number {
    this.lastCas = this.lastCas === 0xffffffff ? 1 : this.lastCas + 1;
    return this.lastCas;
  }
}
