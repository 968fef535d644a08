// SPDX-License-Identifier: Apache-2.0
// Hash: the stateless way. Envoy routes exact `x-smetric-turn: 1` to a least-request cluster and hashes the rest on
// `x-smetric-session`; no endpoint is named.
import { Steering } from "./steering";


@final
export class HashSteering extends Steering {
  steer(_address: usize, _size: u32): bool {
    return false;
  }

  get namesEndpoint(): bool {
    return false;
  }
}
