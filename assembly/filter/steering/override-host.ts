// SPDX-License-Identifier: Apache-2.0
// Override host: the header that the load-balancing policy `override_host` reads, a plain "ip:port".
import { replaceHeader } from "../../host/headers";
import { HeaderMapType } from "../../host/status";
import { ENDPOINT_HEADER } from "../header-names";
import { Steering } from "./steering";


@final
export class OverrideHostSteering extends Steering {
  steer(address: usize, size: u32): bool {
    return replaceHeader(HeaderMapType.Request, ENDPOINT_HEADER, address, size);
  }
}
