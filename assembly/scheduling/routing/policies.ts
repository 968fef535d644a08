// SPDX-License-Identifier: Apache-2.0
// The table of routing policies: which class stands behind each name of the configuration.
import { PolicyKind } from "../../config/options";
import { Learned } from "../../memory/learned";
import { Agentix } from "./agentix";
import { LeastRequest } from "./least-request";
import { Lmetric } from "./lmetric";
import { RoutingOptions } from "./options";
import { Policy } from "./policy";
import { PrefillPool } from "./prefill-pool";
import { Priced } from "./priced";
import { SessionHash } from "./session-hash";
import { SmetricV1 } from "./smetric-v1";
import { SmetricV2 } from "./smetric-v2";
import { Sticky } from "./sticky";

/**
 * A new policy. It keeps both records by reference: whoever owns them refreshes `learned` for the model of a
 * request before the pick.
 */
export function policyOf(kind: PolicyKind, options: RoutingOptions, learned: Learned): Policy {
  const policy = plainPolicyOf(kind, options, learned);
  return options.prefillPool ? new PrefillPool(policy) : policy;
}

function plainPolicyOf(kind: PolicyKind, options: RoutingOptions, learned: Learned): Policy {
  switch (kind) {
    case PolicyKind.Sticky:
      return new Sticky();
    case PolicyKind.SmetricV1:
      return new SmetricV1(options, learned);
    case PolicyKind.SmetricV2:
      return new SmetricV2(options, learned);
    case PolicyKind.Lmetric:
      return new Lmetric(options);
    case PolicyKind.Agentix:
      return new Agentix(options);
    case PolicyKind.SessionHash:
      return new SessionHash();
    case PolicyKind.LeastRequest:
      return new LeastRequest();
    default:
      return new Priced(options, learned);
  }
}
