// SPDX-License-Identifier: Apache-2.0
// The stream at hand: which one calls speak of, letting a held one go, answering it, the clock and the tick.
import {
  proxy_continue_stream,
  proxy_get_current_time_nanoseconds,
  proxy_send_local_response,
  proxy_set_effective_context,
  proxy_set_tick_period_milliseconds,
} from "@solo-io/proxy-runtime/assembly/imports";
import { Status, StreamType } from "./status";
import { HostText } from "./text";

const NO_GRPC_STATUS: u32 = 0xffff_ffff;

const outTime: usize = memory.data(8);

/** Following calls speak of this context. False when it is gone. */
export function selectContext(contextId: u32): bool {
  return proxy_set_effective_context(contextId) == Status.Ok;
}

/** Lets a held request go on. Works from the tick too, after `selectContext` (Envoy 1.36 and 1.40). */
export function continueRequest(): bool {
  return proxy_continue_stream(StreamType.Request) == Status.Ok;
}

/** Answers the request from here; `headerPairs` is a serialised header map or empty. */
export function answerLocally(
  code: u32,
  details: HostText,
  body: HostText,
  pairsAddress: usize,
  pairsSize: u32,
): void {
  proxy_send_local_response(
    code,
    details.address,
    details.size,
    body.address,
    body.size,
    pairsAddress,
    pairsSize,
    NO_GRPC_STATUS,
  );
}

/** What the clock counts in. */
export const NS_PER_MS: u64 = 1_000_000;

/** Wall clock in ns since the epoch; it steps by 1 us. Costs 0.1 us. */
export function nowNs(): u64 {
  if (proxy_get_current_time_nanoseconds(outTime) != Status.Ok) return 0;
  return load<u64>(outTime);
}

/** Asks for proxy_on_tick every `periodMs`, in each VM of its own. */
export function setTickPeriod(periodMs: u32): void {
  proxy_set_tick_period_milliseconds(periodMs);
}
