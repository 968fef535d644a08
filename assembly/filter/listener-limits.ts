// SPDX-License-Identifier: Apache-2.0
// What this listener turned out to allow: the filter cannot see Envoy's buffer limits, so it learns them.
import { logWarn } from "../host/log";
import { Landing } from "../host/landing";
import { readShared, writeShared } from "../host/shared-data";
import { Status } from "../host/status";
import { HostText } from "../host/text";

/** Envoy Gateway and Istio's edge profile allow 32 KiB; no listener in the field allows less than half of it. */
const SMALLEST_CAP: u32 = 16 * 1024;

const VALUE_BYTES: u32 = 8;
const OFFSET_CAP: usize = 0;
const OFFSET_UNSUPPORTED: usize = 4;
const MAX_TRIES: i32 = 4;

/**
 * Limits shared by all workers: the cap (most bytes that are held before the request is let go) and whether the
 * host lacks allow_on_headers_stop_iteration. Read from shared data at each tick, written when something is learned.
 */
@final
export class ListenerLimits {
  private readonly key: HostText;
  private readonly landing: Landing = new Landing(64);
  private readonly value: usize = heap.alloc(VALUE_BYTES);
  /** Bytes after which a held request is released with the best answer so far. */
  capBytes: u32;
  /** True when the host never calls back while headers are held: bodies are then read as they stream by. */
  holdUnsupported: bool = false;

  constructor(pluginName: string, configuredCapBytes: u32) {
    this.key = new HostText("smetric.limits." + pluginName);
    this.capBytes = configuredCapBytes;
  }

  /** Takes over what other workers learned. One shared-data read. */
  refresh(): void {
    this.readLearned();
  }

  /** A request of `seenBytes` was stuck in a full buffer: hold no more than the power of two below. */
  lowerCap(seenBytes: u32): bool {
    const cap = max(SMALLEST_CAP, (<u32>1) << (31 - clz(seenBytes | 1)));
    if (cap >= this.capBytes) return false;
    this.capBytes = cap;
    if (this.publish()) {
      logWarn(
        "a held request got stuck at " +
          seenBytes.toString() +
          " bytes: this listener's buffer limit is lower than hold_cap_bytes; holding at most " +
          cap.toString() +
          " bytes from now on (raise the limit, see docs/operations.md)",
      );
    }
    return true;
  }

  /** The host does not deliver bodies of held requests: read them as they stream by from now on. */
  giveUpHolding(): void {
    if (this.holdUnsupported) return;
    this.holdUnsupported = true;
    if (this.publish()) {
      logWarn(
        "this Envoy delivers no body while headers are held: allow_on_headers_stop_iteration is missing or " +
          "unknown to it (it needs Envoy 1.35); requests are counted but not steered",
      );
    }
  }

  private readLearned(): u32 {
    const version = readShared(this.landing, this.key.address, this.key.size);
    if (version == 0 || this.landing.size != VALUE_BYTES) return version;
    const cap = load<u32>(this.landing.address, OFFSET_CAP);
    if (cap >= SMALLEST_CAP) this.capBytes = min(this.capBytes, cap);
    if (load<u32>(this.landing.address, OFFSET_UNSUPPORTED) == 1) this.holdUnsupported = true;
    return version;
  }

  /** Writes what is known; true for the one worker that brought something new. */
  private publish(): bool {
    const cap = this.capBytes;
    const unsupported = this.holdUnsupported;
    for (let i = 0; i < MAX_TRIES; i++) {
      const version = this.readLearned();
      const known = version != 0 && this.landing.size == VALUE_BYTES;
      if (known && load<u32>(this.landing.address, OFFSET_CAP) <= cap) {
        if (!unsupported || load<u32>(this.landing.address, OFFSET_UNSUPPORTED) == 1) return false;
      }
      store<u32>(this.value, this.capBytes, OFFSET_CAP);
      store<u32>(this.value, this.holdUnsupported ? 1 : 0, OFFSET_UNSUPPORTED);
      const status = writeShared(this.key.address, this.key.size, this.value, VALUE_BYTES, version);
      if (status == Status.Ok) return true;
    }
    return false;
  }
}
