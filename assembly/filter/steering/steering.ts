// SPDX-License-Identifier: Apache-2.0
// A way to make Envoy obey a decision.
import { writeBase64, VALUE } from "../value-text";

/** One way of telling Envoy the endpoint. Chosen once, by the option `steering`. */
export abstract class Steering {
  /**
   * Tells Envoy to prefer the endpoint `ip:port` at `address`. Called while the request's headers can be written,
   * except where `needsHold` is false. False when the host refuses.
   */
  abstract steer(address: usize, size: u32): bool;

  /** Whether the request's headers must be held back until the decision. */
  get needsHold(): bool {
    return true;
  }

  /** Whether Envoy's stateful_session filter obeys, and says so in a response header where it does not. */
  get isWitnessed(): bool {
    return false;
  }

  /** Whether an endpoint is named at all, or only turn and session are written. */
  get namesEndpoint(): bool {
    return true;
  }
}

/** The form that Envoy's stateful_session filter reads: base64("ip:port"), at VALUE. Returns its size. */
export function encodeEndpoint(address: usize, size: u32): u32 {
  return writeBase64(address, size);
}

export const ENCODED: usize = VALUE;
