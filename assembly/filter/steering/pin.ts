// SPDX-License-Identifier: Apache-2.0
// Pin: the header of Envoy's stateful_session filter, which honours health and falls back to the load balancer.
import { replaceHeader } from "../../host/headers";
import { HeaderMapType } from "../../host/status";
import { ENDPOINT_HEADER } from "../header-names";
import { ENCODED, encodeEndpoint, Steering } from "./steering";


@final
export class PinSteering extends Steering {
  steer(address: usize, size: u32): bool {
    const encoded = encodeEndpoint(address, size);
    return encoded > 0 && replaceHeader(HeaderMapType.Request, ENDPOINT_HEADER, ENCODED, encoded);
  }

  get isWitnessed(): bool {
    return true;
  }
}
