// SPDX-License-Identifier: Apache-2.0
// One thread of Envoy: its VM, what a trap does to it, and how it comes back.
import type { EventLoop } from "./event-loop.ts";
import type { Stream } from "./http/stream.ts";
import type { FailurePolicy } from "./options.ts";
import type { WasmVm } from "./wasm/wasm-vm.ts";

/** ReloadConfig.backoff.base_interval. */
const RELOAD_BACKOFF_US = 1_000_000;

/** Starts and configures a VM of the current configuration; throws LoadFailure. */
export type VmFactory = (name: string) => WasmVm;

export class Worker {
  vm: WasmVm;
  readonly streams = new Set<Stream>();
  /** VMs that were replaced by an update and still have streams. */
  private readonly draining = new Map<WasmVm, number>();

  constructor(
    readonly name: string,
    private readonly loop: EventLoop,
    private readonly policy: FailurePolicy,
    private factory: VmFactory,
  ) {
    this.vm = this.load();
  }

  /** The VM for a new stream; "bypass" leaves the filter out, "refuse" is Envoy's 503. */
  vmForStream(): WasmVm | "bypass" | "refuse" {
    if (!this.vm.failed) return this.vm;
    if (this.policy === "fail_open") return "bypass";
    if (this.policy === "fail_closed") return "refuse";
    if (this.loop.clock.nowUs - this.vm.startedUs < RELOAD_BACKOFF_US) return "refuse";
    this.vm = this.load();
    return this.vm;
  }

  /** A new configuration: new streams use a new VM, running ones finish on theirs. */
  replace(factory: VmFactory): void {
    const old = this.vm;
    this.factory = factory;
    this.vm = this.load();
    const open = [...this.streams].filter((stream) => stream.wasm?.vm === old).length;
    if (open === 0) old.shutDown();
    else this.draining.set(old, open);
  }

  add(stream: Stream): void {
    this.streams.add(stream);
  }

  remove(stream: Stream): void {
    this.streams.delete(stream);
    const vm = stream.wasm?.vm;
    const left = vm === undefined ? undefined : this.draining.get(vm);
    if (vm === undefined || left === undefined) return;
    if (left > 1) {
      this.draining.set(vm, left - 1);
      return;
    }
    this.draining.delete(vm);
    vm.shutDown();
  }

  stop(): void {
    this.vm.stopTicking();
    for (const vm of this.draining.keys()) vm.stopTicking();
  }

  private load(): WasmVm {
    const vm = this.factory(this.name);
    vm.beginTicking();
    return vm;
  }
}
