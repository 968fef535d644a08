// SPDX-License-Identifier: Apache-2.0
// Prefill: for fleets whose decode side orchestrates, a header names the prefill endpoint; Envoy chooses the decode
// endpoint. llm-d's routing sidecar reads `x-prefiller-host-port` (host:port); its first releases read `x-prefiller-url`.
import { replaceHeader } from "../../host/headers";
import { HeaderMapType } from "../../host/status";
import { HostText } from "../../host/text";
import { Steering } from "./steering";


@final
export class PrefillSteering extends Steering {
  private readonly header: HostText;

  constructor(header: string) {
    super();
    this.header = new HostText(header);
  }

  steer(address: usize, size: u32): bool {
    return replaceHeader(HeaderMapType.Request, this.header, address, size);
  }
}
