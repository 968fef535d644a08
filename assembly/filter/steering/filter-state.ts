// SPDX-License-Identifier: Apache-2.0
// Filter state: for hosts without the header-stop flag. A buffer filter behind this one holds the request, and
// header_mutation turns `wasm.smetric_endpoint` into the header that stateful_session reads.
import { writeFilterState } from "../../host/properties";
import { HostText } from "../../host/text";
import { ENCODED, encodeEndpoint, Steering } from "./steering";

const STATE_NAME = new HostText("smetric_endpoint");


@final
export class FilterStateSteering extends Steering {
  steer(address: usize, size: u32): bool {
    const encoded = encodeEndpoint(address, size);
    return encoded > 0 && writeFilterState(STATE_NAME, ENCODED, encoded);
  }

  get needsHold(): bool {
    return false;
  }
}
