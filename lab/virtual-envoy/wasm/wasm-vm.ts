// SPDX-License-Identifier: Apache-2.0
/// <reference lib="dom" />
// One instance of the compiled filter: start, configure, call, and what a trap does to it.
import type { TimerHandle } from "../clock.ts";
import type { Random } from "../random.ts";
import { HeaderMap } from "../http/header-map.ts";
import type { LogLevel, Status } from "./abi.ts";
import { type GuestContext, RootContext } from "./guest-context.ts";
import { GuestMemory } from "./guest-memory.ts";
import { hostImports } from "./imports.ts";
import type { Histogram, Metrics, Stat } from "./metrics.ts";
import type { SharedData } from "./shared-data.ts";
import type { SharedQueues } from "./shared-queues.ts";

/** The module cannot be loaded or refuses its configuration: real Envoy exits, or keeps the old filter on an update. */
export class LoadFailure extends Error {
  override readonly name = "LoadFailure";
}

export interface LogLine {
  atUs: number;
  /** Name of the VM: "base", "main" or "worker-N". */
  vm: string;
  level: LogLevel;
  message: string;
}

/** An HTTP call that a guest makes on the side. */
export interface SideCall {
  cluster: string;
  headers: [string, string][];
  body: Uint8Array;
  timeoutMs: number;
}

export interface SideCallAnswer {
  headers: [string, string][];
  body?: Uint8Array;
  delayMs?: number;
}

/** What all VMs of one Envoy share. */
export interface VmSurroundings {
  readonly clock: { readonly nowUs: number };
  readonly random: Random;
  readonly sharedData: SharedData;
  readonly queues: SharedQueues;
  readonly metrics: Metrics;
  /** Calls out of the VMs by name, when they are counted. */
  readonly hostCalls: Map<string, number> | undefined;
  readonly plugin: { name: string; rootId: string; vmId: string };
  log(line: LogLine): void;
  /** Undefined for an unknown cluster. */
  sideCall(call: SideCall): SideCallAnswer | undefined;
  /** Replaces the answer to a property look-up, for hosts that answer oddly. */
  property(path: string): Uint8Array | Status | undefined;
  /** Runs after the current driver operation, like the next turn of Envoy's event loop. */
  post(run: () => void): void;
  after(delayUs: number, run: () => void): TimerHandle;
}

type GuestFunction = (...args: number[]) => number | undefined;

const ENCODER = new TextEncoder();

export class WasmVm {
  readonly memory: GuestMemory;
  readonly root: RootContext;
  readonly contexts = new Map<number, GuestContext>();
  readonly startedUs: number;
  failed = false;
  /** The next call into the guest traps, as a bug in it would. */
  trapNext = false;
  /** Set by send_local_response: the callback's own answer no longer counts. */
  replied = false;
  /** The outermost call that returned last had sent a local response. */
  lastCallReplied = false;
  current: GuestContext | undefined;
  effectiveId = 0;
  readonly stats = new Map<number, Stat>();
  readonly histograms = new Map<number, Histogram>();
  private readonly exports: Record<string, unknown>;
  private readonly functions = new Map<string, GuestFunction | undefined>();
  private readonly malloc: GuestFunction;
  private deferred: (() => void)[] = [];
  private depth = 0;
  private lastContextId = 0;
  private tickTimer: TimerHandle | undefined;
  private tickPeriodMs = 0;
  private ticking = false;
  private lastCallToken = 0;

  /** @throws LoadFailure when an import or a needed export is missing */
  constructor(
    module: WebAssembly.Module,
    readonly name: string,
    readonly surroundings: VmSurroundings,
  ) {
    const imports = hostImports(this);
    for (const wanted of WebAssembly.Module.imports(module)) {
      if (imports[wanted.module]?.[wanted.name] === undefined) {
        const missing = `${wanted.module}.${wanted.name}`;
        throw new LoadFailure(`Failed to load Wasm module due to a missing import: ${missing}`);
      }
    }
    this.startedUs = surroundings.clock.nowUs;
    this.exports = new WebAssembly.Instance(module, imports).exports;
    if (this.exports["proxy_abi_version_0_2_1"] === undefined) {
      throw new LoadFailure("Failed to load Wasm module: unknown ABI version");
    }
    this.memory = new GuestMemory(this.exports["memory"] as WebAssembly.Memory);
    const malloc = this.export("malloc") ?? this.export("proxy_on_memory_allocate");
    if (malloc === undefined) throw new LoadFailure("Wasm missing malloc/proxy_on_memory_allocate");
    this.malloc = malloc;
    this.root = new RootContext(this);
  }

  /** Start section, root context and on_vm_start. False when the guest refuses or traps. */
  start(): boolean {
    if (this.export("_initialize")) this.call(this.root, "_initialize");
    if (this.failed) return false;
    this.create(this.root, 0);
    const answer = this.call(this.root, "proxy_on_vm_start", this.root.id, 0);
    return !this.failed && answer !== 0;
  }

  /** on_configure with the plugin's configuration. False when the guest refuses or traps. */
  configure(configuration: string): boolean {
    const bytes = ENCODER.encode(configuration);
    this.root.pluginConfiguration = bytes;
    const answer = this.call(this.root, "proxy_on_configure", this.root.id, bytes.length);
    this.root.pluginConfiguration = undefined;
    return !this.failed && answer !== 0;
  }

  /** Announces a context to the guest, once. */
  create(context: GuestContext, parentId: number): void {
    if (context.created) return;
    context.created = true;
    this.call(context, "proxy_on_context_create", context.id, parentId);
  }

  adopt(context: GuestContext): number {
    do {
      this.lastContextId = (this.lastContextId + 1) >>> 0;
    } while (this.lastContextId === 0 || this.contexts.has(this.lastContextId));
    this.contexts.set(this.lastContextId, context);
    return this.lastContextId;
  }

  forget(context: GuestContext): void {
    this.contexts.delete(context.id);
  }

  exportsFunction(name: string): boolean {
    return this.export(name) !== undefined;
  }

  /**
   * Calls an exported callback in the name of `context`.
   * @returns what it answered; undefined when it is not exported, has no answer, or the VM is or becomes failed
   */
  call(context: GuestContext, name: string, ...args: number[]): number | undefined {
    const callback = this.export(name);
    if (callback === undefined || this.failed) return undefined;
    const outer = { current: this.current, effectiveId: this.effectiveId };
    this.current = context;
    this.effectiveId = 0;
    this.depth += 1;
    let answer: number | undefined;
    try {
      if (this.trapNext) throw new WebAssembly.RuntimeError("unreachable");
      answer = callback(...args);
    } catch (error) {
      this.fail(name, error);
    } finally {
      this.depth -= 1;
      this.current = outer.current;
      this.effectiveId = outer.effectiveId;
    }
    if (this.depth === 0) this.runDeferred();
    return answer;
  }

  /** Runs `action` when the guest has returned; host calls must not re-enter the filter chain. */
  defer(action: () => void): void {
    this.deferred.push(action);
  }

  /** The context whose name host calls act in. */
  target(): GuestContext {
    return this.contexts.get(this.effectiveId) ?? this.current ?? this.root;
  }

  /** Guest memory for a returned value, from the guest's own allocator as in Envoy. 0 when that fails. */
  allocate(sizeBytes: number): number {
    return (this.malloc(sizeBytes) ?? 0) >>> 0;
  }

  setTickPeriod(periodMs: number): void {
    this.tickTimer?.cancel();
    this.tickPeriodMs = periodMs;
    if (periodMs === 0 || !this.ticking) return;
    this.tickTimer = this.surroundings.after(periodMs * 1000, () => this.tick());
  }

  /** Timers fire from now on; the base VM, which only validates, never gets here. */
  beginTicking(): void {
    this.ticking = true;
    if (this.tickPeriodMs > 0) this.setTickPeriod(this.tickPeriodMs);
  }

  stopTicking(): void {
    this.ticking = false;
    this.tickTimer?.cancel();
  }

  /** The last stream of its configuration has gone: the root context ends. */
  shutDown(): void {
    this.stopTicking();
    if (this.failed) return;
    this.call(this.root, "proxy_on_done", this.root.id);
    this.call(this.root, "proxy_on_delete", this.root.id);
  }

  private tick(): void {
    if (this.failed) return;
    this.call(this.root, "proxy_on_tick", this.root.id);
    if (this.ticking && this.tickPeriodMs > 0) this.setTickPeriod(this.tickPeriodMs);
  }

  log(level: LogLevel, message: string): void {
    this.surroundings.log({ atUs: this.surroundings.clock.nowUs, vm: this.name, level, message });
  }

  pluginProperty(path: string): Uint8Array | undefined {
    const { name, rootId, vmId } = this.surroundings.plugin;
    const key = path.replace(/\0$/, "");
    if (key === "plugin_name") return ENCODER.encode(name);
    if (key === "plugin_root_id") return ENCODER.encode(rootId);
    if (key === "plugin_vm_id") return ENCODER.encode(vmId);
    return undefined;
  }

  /**
   * Starts a side call; its answer arrives as proxy_on_http_call_response of the root context.
   * @returns the token of the call, 0 for an unknown cluster
   */
  startSideCall(call: SideCall): number {
    const answer = this.surroundings.sideCall(call);
    if (answer === undefined) return 0;
    this.lastCallToken += 1;
    const token = this.lastCallToken;
    const deliver = (): void => this.deliverSideCall(token, answer);
    if (answer.delayMs) this.surroundings.after(answer.delayMs * 1000, deliver);
    else this.surroundings.post(deliver);
    return token;
  }

  private deliverSideCall(token: number, answer: SideCallAnswer): void {
    const body = answer.body ?? new Uint8Array(0);
    this.root.callResponse = { headers: HeaderMap.from(answer.headers), body, trailers: undefined };
    const counts = [answer.headers.length, body.length, 0];
    this.call(this.root, "proxy_on_http_call_response", this.root.id, token, ...counts);
    this.root.callResponse = undefined;
  }

  private export(name: string): GuestFunction | undefined {
    if (!this.functions.has(name)) {
      const value = this.exports?.[name];
      this.functions.set(name, typeof value === "function" ? (value as GuestFunction) : undefined);
    }
    return this.functions.get(name);
  }

  private fail(callback: string, error: unknown): void {
    const overflow = error instanceof RangeError && /call stack/.test(error.message);
    if (!(error instanceof WebAssembly.RuntimeError) && !overflow) throw error;
    const reason = error.message;
    this.log("error", `Function: ${callback} failed: Uncaught RuntimeError: ${reason}`);
    this.failed = true;
    this.deferred = [];
    this.stopTicking();
  }

  private runDeferred(): void {
    this.lastCallReplied = this.replied;
    this.replied = false;
    while (this.deferred.length > 0) this.deferred.shift()!();
  }
}
