// SPDX-License-Identifier: Apache-2.0
// The ways to obey a decision, each in the chain that it is made for.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { VirtualEnvoyOptions } from "../../lab/virtual-envoy/index.ts";
import {
  assertQuiet,
  Conversation,
  converse,
  ENDPOINTS,
  startGateway,
  TARGETS,
} from "./harness.ts";

const WAYS: [name: string, options: Partial<VirtualEnvoyOptions>][] = [
  ["pin", { chain: "pin" }],
  [
    "pin behind a buffer filter, limits not ours",
    { chain: "pin_buffered", limits: { connectionBytes: 32 * 1024 } },
  ],
  [
    "filter state without the flag",
    { chain: "filter_state", flag: false, configuration: { steering: "filter-state" } },
  ],
  [
    "override host",
    {
      chain: "wasm_only",
      configuration: { steering: "override-host" },
      clusters: [{ name: "llm", endpoints: ENDPOINTS, overrideHostHeader: "x-smetric-endpoint" }],
    },
  ],
];

for (const target of TARGETS) {
  describe(`Ways to steer with the ${target} module`, () => {
    for (const [name, options] of WAYS) {
      it(`sends follow-ups home by ${name}`, async () => {
        const envoy = await startGateway({ target, workers: 2, seed: 7, ...options });
        const padding = "word ".repeat(20_000);
        for (let session = 0; session < 8; session++) {
          const conversation = new Conversation(`s${session}`).answer("Ready.").ask(padding);
          const home = converse(envoy, conversation).endpoint;
          for (let turn = 1; turn <= 3; turn++) {
            assert.equal(converse(envoy, conversation.next(turn)).endpoint, home);
          }
        }
        assertQuiet(envoy);
      });
    }

    it("sends first turns by load and the rest by hash in the stateless way", async () => {
      const envoy = await startGateway({
        target,
        chain: "wasm_only",
        configuration: { steering: "hash" },
        clusters: [
          { name: "first", endpoints: ENDPOINTS },
          { name: "follow", endpoints: ENDPOINTS, policy: "ring_hash", hashBalanceFactor: 150 },
        ],
        routes: [
          { cluster: "first", headers: { "x-smetric-turn": "1" } },
          { cluster: "follow", hashHeader: "x-smetric-session" },
        ],
      });
      for (let session = 0; session < 8; session++) {
        const conversation = new Conversation(`s${session}`);
        const first = envoy.send({ path: "/v1/chat/completions", body: conversation.body() });
        assert.equal(first.info.route?.cluster, "first");
        const homes = new Set<string>();
        for (let turn = 1; turn <= 4; turn++) {
          const body = conversation.next(turn).body();
          const follow = envoy.send({ path: "/v1/chat/completions", body });
          assert.equal(follow.info.route?.cluster, "follow");
          homes.add(follow.info.endpoint!.address);
        }
        assert.equal(homes.size, 1);
      }
    });
  });
}
