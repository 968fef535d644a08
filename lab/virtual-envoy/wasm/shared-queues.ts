// SPDX-License-Identifier: Apache-2.0
// proxy-wasm shared queues: unbounded, named per vm_id, announced to the VM that registered last.
import { Status } from "./abi.ts";

interface Queue {
  items: Uint8Array[];
  announce: () => void;
}

export class SharedQueues {
  private readonly tokens = new Map<string, number>();
  private readonly queues = new Map<number, Queue>();

  /** Registering again keeps pending items and moves the announcement to the new caller. */
  register(vmId: string, name: string, announce: () => void): number {
    const known = this.resolve(vmId, name);
    if (known !== 0) {
      this.queues.get(known)!.announce = announce;
      return known;
    }
    const token = this.queues.size + 1;
    this.tokens.set(`${vmId}\0${name}`, token);
    this.queues.set(token, { items: [], announce });
    return token;
  }

  /** Token of a queue, 0 when there is none. */
  resolve(vmId: string, name: string): number {
    return this.tokens.get(`${vmId}\0${name}`) ?? 0;
  }

  enqueue(token: number, bytes: Uint8Array): Status {
    const queue = this.queues.get(token);
    if (queue === undefined) return Status.NotFound;
    queue.items.push(bytes);
    queue.announce();
    return Status.Ok;
  }

  dequeue(token: number): Uint8Array | Status {
    const queue = this.queues.get(token);
    if (queue === undefined) return Status.NotFound;
    return queue.items.shift() ?? Status.Empty;
  }
}
