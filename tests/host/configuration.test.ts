// SPDX-License-Identifier: Apache-2.0
// A bad configuration refuses to load and says why; a refused update leaves the old filter in place.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LoadFailure } from "../../lab/virtual-envoy/index.ts";
import { assertNoTrap, Conversation, converse, startGateway, TARGETS } from "./harness.ts";
import { buildUnloadable } from "./probe.ts";

/** Configuration, and what the refusal must name: field, value, what is allowed. */
const REFUSED: [configuration: unknown, ...named: RegExp[]][] = [
  [{ policy: "magic" }, /policy/, /magic/, /sticky/],
  [{ mode: 7 }, /mode/, /7/, /observe/],
  [{ hold_cap_bytes: -1 }, /hold_cap_bytes/, /-1/],
  [{ hold_cap_bytes: "much" }, /hold_cap_bytes/, /much/],
  [{ tick_ms: 1.5 }, /tick_ms/, /1\.5/],
  [{ polcy: "sticky" }, /polcy/, /policy/],
  [{ session_headers: "x-session-id" }, /session_headers/],
  ["{", /JSON|end/i],
  ["[]", /object/i],
];

for (const target of TARGETS) {
  describe(`Configuration of the ${target} module`, () => {
    for (const [configuration, ...named] of REFUSED) {
      it(`refuses ${JSON.stringify(configuration)} and says why`, async () => {
        await assert.rejects(startGateway({ target, configuration }), (fault: unknown) => {
          assert.ok(fault instanceof LoadFailure);
          for (const pattern of named) assert.match(fault.message, pattern);
          return true;
        });
      });
    }

    it("loads without any configuration", async () => {
      for (const configuration of ["", "{}"]) {
        const envoy = await startGateway({ target, configuration });
        assert.equal(converse(envoy, new Conversation("a")).status, 200);
        assertNoTrap(envoy);
      }
    });

    it("keeps serving with the old configuration when an update is refused", async () => {
      const envoy = await startGateway({ target, configuration: { expose_decision: true } });
      assert.equal(envoy.update({ policy: "magic" }), false);
      const { responseHeaders } = converse(envoy, new Conversation("a"));
      assert.equal(responseHeaders["x-smetric-decision"], "first_turn");
    });

    it("keeps what it knows across an update", async () => {
      const envoy = await startGateway({ target });
      const conversation = new Conversation("a");
      const home = converse(envoy, conversation).endpoint;
      assert.equal(envoy.update({ expose_decision: true }), true);
      const followUp = converse(envoy, conversation.next(1));
      assert.equal(followUp.responseHeaders["x-smetric-decision"], "home");
      assert.equal(followUp.endpoint, home);
    });
  });
}

describe("Loading", () => {
  it("refuses a module with imports that Envoy does not offer", async () => {
    const { VirtualEnvoy } = await import("../../lab/virtual-envoy/index.ts");
    const wasm = await buildUnloadable();
    assert.throws(
      () => new VirtualEnvoy({ wasm, configuration: "" }),
      /missing import: env\.abort/,
    );
  });
});
