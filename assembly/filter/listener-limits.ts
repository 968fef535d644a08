// SPDX-License-Identifier: Apache-2.0
// What this listener turned out to allow: the filter cannot see Envoy's buffer limits, so it learns them.
//
// What looks like a limit may be a client that pauses at the wrong moment. So nobody is believed alone: it takes
// STRIKES streams in a row, any stream that shows the opposite begins the count anew, and what was concluded is tried
// again by one stream after RETRY_MS.
import { logWarn } from "../host/log";
import { Landing } from "../host/landing";
import { readShared, writeShared } from "../host/shared-data";
import { Status } from "../host/status";
import { HostText } from "../host/text";
import { isPast } from "../memory/roster";

/** Envoy Gateway and Istio's edge profile allow 32 KiB; no listener in the field allows less than half of it. */
const SMALLEST_CAP: u32 = 16 * 1024;

/** Streams in a row that must say the same. */
const STRIKES: u32 = 3;

/** What was concluded is tried again after this time. Shorter than the window of the alert SmetricCannotHold. */
const RETRY_MS: u64 = 4 * 60_000;

/** A trial that has said nothing for this long after its watchdog may be followed by another one. */
const TRIAL_MS: u64 = 5_000;

/** That bodies come while headers are held is told to the other workers that often. */
const PROOF_MS: u64 = 250;

const MAX_TRIES: i32 = 4;

/** The cap that requests of one protocol need: HTTP/1 is bounded by the connection's buffer, HTTP/2 by its window. */
@unmanaged
class CapRow {
  /** Most bytes to hold, 0 = as many as configured; and at how many bytes streams were stuck. */
  capBytes: u32;
  stuckBytes: u32;
  /** Streams in a row that were stuck below that, and the most bytes that one of them had. */
  strikes: u32;
  suspectBytes: u32;
  strikeMs: u64;
  /** When the cap was last found true, and when a stream last began to try it. */
  loweredMs: u64;
  triedMs: u64;
}

/** Whether bodies come while headers are held. */
@unmanaged
class HoldRow {
  /** When one last came, as far as workers have told. */
  provenMs: u64;
  /** When a stream last got none, and how many in a row. */
  failedMs: u64;
  triedMs: u64;
  fails: u32;
  /** 1 = holding is given up. */
  isOff: u32;
}

const HOLD_BYTES: usize = offsetof<HoldRow>();
const CAP_BYTES: usize = offsetof<CapRow>();
const VALUE_BYTES: usize = HOLD_BYTES + 2 * CAP_BYTES;

/**
 * Limits shared by all workers: the cap (most bytes that are held before the request is let go) and whether the host
 * lacks allow_on_headers_stop_iteration. Read from shared data at each tick, written when something is learned. An
 * update of the configuration begins anew.
 */
@final
export class ListenerLimits {
  private readonly key: HostText;
  private readonly landing: Landing = new Landing(128);
  private readonly value: usize = heap.alloc(VALUE_BYTES);
  private readonly trialMs: u64;
  /** A body came while headers were held, since the last refresh. */
  private delivered: bool = false;
  /** Held bytes below which nothing is to be asked. */
  watchBytes: u32;
  /** True when the host never calls back while headers are held: bodies are then read as they stream by. */
  holdUnsupported: bool = false;

  /**
   * @param configurationHash of the text of the plugin configuration
   * @param configuredCapBytes `hold_cap_bytes`
   */
  constructor(
    pluginName: string,
    configurationHash: u64,
    readonly configuredCapBytes: u32,
    holdStallMs: u64,
  ) {
    this.key = new HostText("smetric.limits." + pluginName + "." + configurationHash.toString(16));
    this.trialMs = holdStallMs + TRIAL_MS;
    this.watchBytes = configuredCapBytes;
    memory.fill(this.value, 0, VALUE_BYTES);
  }

  /** Takes over what other workers learned, and tells them that holding works. One shared-data read. */
  refresh(nowMs: u64): void {
    this.read();
    if (!this.delivered) return;
    this.delivered = false;
    const hold = this.hold;
    if (hold.fails != 0 || hold.isOff != 0 || isPast(hold.provenMs, PROOF_MS, nowMs)) {
      this.prove(nowMs);
    }
  }

  /** Bytes of a body came while its headers were held. */
  noteDelivered(): void {
    this.delivered = true;
  }

  /**
   * A body that had sent nothing came right after its release.
   * @param heldMs since when the headers were held
   * @returns true where that was the finding, or a renewed one, that holding does not work
   */
  noteUndelivered(heldMs: u64, nowMs: u64): bool {
    for (let i = 0; i < MAX_TRIES; i++) {
      const version = this.read();
      const hold = this.hold;
      const isProven = hold.provenMs >= heldMs && hold.provenMs <= nowMs + PROOF_MS;
      if (this.delivered || isProven) return false;
      const wasOff = hold.isOff != 0;
      if (wasOff && !isPast(hold.failedMs, RETRY_MS, nowMs)) return false;
      hold.failedMs = nowMs;
      if (!wasOff && ++hold.fails >= STRIKES) hold.isOff = 1;
      if (!this.write(version)) continue;
      if (hold.isOff != 0 && !wasOff) {
        logWarn(
          "this Envoy delivers no body while headers are held: allow_on_headers_stop_iteration is missing or " +
            "unknown to it (it needs Envoy 1.35); requests are counted but not steered, one every few minutes is " +
            "held to see whether that has changed",
        );
      }
      return hold.isOff != 0;
    }
    return false;
  }

  /** Holding is given up, and the caller's stream is to try it again. */
  claimHold(nowMs: u64): bool {
    const hold = this.hold;
    if (!isPast(hold.failedMs, RETRY_MS, nowMs)) return false;
    if (!isPast(hold.triedMs, this.trialMs, nowMs)) return false;
    const version = this.read();
    if (hold.isOff == 0 || !isPast(hold.triedMs, this.trialMs, nowMs)) return false;
    hold.triedMs = nowMs;
    return this.write(version);
  }

  /**
   * The rest of a body came right after its release: it was stuck in a full buffer.
   * @param lastByteMs when its last byte had come before
   * @returns true where the cap has been lowered, or been found true again
   */
  noteStuck(isHttp1: bool, seenBytes: u32, lastByteMs: u64, nowMs: u64): bool {
    const row = this.rowOf(isHttp1);
    for (let i = 0; i < MAX_TRIES; i++) {
      const version = this.read();
      const isKnown = row.capBytes != 0 && seenBytes >= row.capBytes;
      if (isKnown) {
        if (!isPast(row.loweredMs, RETRY_MS, nowMs)) return false;
        row.loweredMs = nowMs;
        row.stuckBytes = max(row.stuckBytes, seenBytes);
      } else {
        // Streams that are stuck at the same time are one: others must have time to show the opposite.
        if (row.strikes > 0 && lastByteMs <= row.strikeMs && row.strikeMs <= nowMs) return false;
        row.suspectBytes = row.strikes > 0 ? max(row.suspectBytes, seenBytes) : seenBytes;
        row.strikeMs = nowMs;
        if (++row.strikes >= STRIKES) concludeCap(row, nowMs);
      }
      if (!this.write(version)) continue;
      if (isKnown) return true;
      if (row.strikes > 0) return false;
      logWarn(
        "held requests got stuck at " +
          row.stuckBytes.toString() +
          " bytes: this listener's buffer limit is lower than hold_cap_bytes; holding at most " +
          row.capBytes.toString() +
          (isHttp1 ? " bytes of HTTP/1 requests" : " bytes of HTTP/2 requests") +
          ", one every few minutes is held for longer to see whether that has changed (raise the limit, see " +
          "docs/operations.md)",
      );
      return true;
    }
    return false;
  }

  /**
   * Whether what was learned lets a held request of so many bytes be held for more; asked from `watchBytes` on.
   * @param tries it has claimed to try the cap
   */
  mayHold(isHttp1: bool, seenBytes: u32, tries: bool): bool {
    const row = this.rowOf(isHttp1);
    if (disproves(row, seenBytes)) this.forget(row, seenBytes);
    return tries || row.capBytes == 0 || seenBytes < row.capBytes;
  }

  /** The caller's stream has reached the learned cap and is to be held for more, to try whether it is still true. */
  claimCap(isHttp1: bool, nowMs: u64): bool {
    const row = this.rowOf(isHttp1);
    if (row.capBytes == 0) return false;
    if (!isPast(row.loweredMs, RETRY_MS, nowMs)) return false;
    if (!isPast(row.triedMs, this.trialMs, nowMs)) return false;
    const version = this.read();
    if (!isPast(row.triedMs, this.trialMs, nowMs)) return false;
    row.triedMs = nowMs;
    return this.write(version);
  }

  /** A stream that tries the cap was held to its end: as much can be held by now. */
  noteWhole(isHttp1: bool, seenBytes: u32): void {
    const row = this.rowOf(isHttp1);
    for (let i = 0; i < MAX_TRIES; i++) {
      const version = this.read();
      if (seenBytes <= row.capBytes || row.capBytes == 0) return;
      if (seenBytes > row.stuckBytes) row.capBytes = 0;
      else row.capBytes = seenBytes;
      if (this.write(version)) return;
    }
  }

  /** Tells all workers that holding works. */
  private prove(nowMs: u64): void {
    for (let i = 0; i < MAX_TRIES; i++) {
      const version = this.read();
      const hold = this.hold;
      const wasOff = hold.isOff != 0;
      hold.provenMs = nowMs;
      hold.fails = 0;
      hold.isOff = 0;
      if (!this.write(version)) continue;
      if (wasOff) logWarn("bodies come while headers are held: requests are steered again");
      return;
    }
  }

  /** So many bytes were held without being stuck: what was learned or suspected below that is wrong by now. */
  private forget(row: CapRow, seenBytes: u32): void {
    for (let i = 0; i < MAX_TRIES; i++) {
      const version = this.read();
      if (!disproves(row, seenBytes)) return;
      if (seenBytes / 2 >= row.stuckBytes) row.capBytes = 0;
      row.strikes = 0;
      if (this.write(version)) return;
    }
  }

  private get hold(): HoldRow {
    return changetype<HoldRow>(this.value);
  }

  private rowOf(isHttp1: bool): CapRow {
    return changetype<CapRow>(this.value + HOLD_BYTES + (isHttp1 ? 0 : CAP_BYTES));
  }

  /** Reads what is shared; answers its version. */
  private read(): u32 {
    const landing = this.landing;
    const version = readShared(landing, this.key.address, this.key.size);
    const isOurs = version != 0 && landing.size == <u32>VALUE_BYTES;
    if (isOurs) memory.copy(this.value, landing.address, VALUE_BYTES);
    this.apply();
    return version;
  }

  private write(version: u32): bool {
    this.apply();
    const key = this.key;
    const size = <u32>VALUE_BYTES;
    return writeShared(key.address, key.size, this.value, size, version) == Status.Ok;
  }

  private apply(): void {
    this.holdUnsupported = this.hold.isOff != 0;
    const http1 = watchFrom(this.rowOf(true));
    const http2 = watchFrom(this.rowOf(false));
    this.watchBytes = min(this.configuredCapBytes, min(http1, http2));
  }
}

/** The largest power of two that is not above, within reason. */
function capBelow(bytes: u32): u32 {
  return max(SMALLEST_CAP, (<u32>1) << (31 - clz(bytes | 1)));
}

function concludeCap(row: CapRow, nowMs: u64): void {
  row.stuckBytes = row.suspectBytes;
  row.capBytes = capBelow(row.stuckBytes);
  row.loweredMs = nowMs;
  row.strikes = 0;
}

/** Held bytes from which a request has to do with what is known of the cap. */
function watchFrom(row: CapRow): u32 {
  const cap = row.capBytes != 0 ? row.capBytes : u32.MAX_VALUE;
  const suspect = row.strikes != 0 ? row.suspectBytes : u32.MAX_VALUE;
  return min(cap, suspect);
}

/** A read is as long as the limit at most: who was stuck had no more than twice the limit. */
function disproves(row: CapRow, heldBytes: u32): bool {
  const half = heldBytes / 2;
  return (
    (row.capBytes != 0 && half >= row.stuckBytes) || (row.strikes != 0 && half >= row.suspectBytes)
  );
}
