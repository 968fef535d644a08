// SPDX-License-Identifier: Apache-2.0
// Hosts and clients that say odd things: nothing traps, nothing unclean is learned or sent on.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../lab/virtual-envoy/random.ts";
import {
  assertNoTrap,
  CHAT_PATH,
  Conversation,
  converse,
  endedStreams,
  startGateway,
  TARGETS,
} from "./harness.ts";

const NOT_FOUND = 1;
const SERIALIZATION_FAILURE = 3;

const ODD_ADDRESSES = [
  "",
  "no address",
  "envoy://internal/",
  "10.0.0.1:8000\r\nx-evil: 1",
  "\0\0",
  "a".repeat(70_000),
  "[::1]:8000",
];

/** 64 KiB, the most that Envoy lets pass in default settings is less. */
const HUGE = "v".repeat(64 * 1024);

function isPrintable(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text);
}

for (const target of TARGETS) {
  describe(`Odd hosts and the ${target} module`, () => {
    for (const path of ["xds\0cluster_name", "upstream\0address", "upstream\0num_endpoints"]) {
      for (const status of [NOT_FOUND, SERIALIZATION_FAILURE] as const) {
        it(`works without the property ${path.replace("\0", ".")} (status ${status})`, async () => {
          const property = (asked: string): typeof status | undefined =>
            asked.startsWith(path) ? status : undefined;
          const envoy = await startGateway({ target, property });
          const conversation = new Conversation("a");
          for (let turn = 1; turn <= 3; turn++) {
            assert.equal(converse(envoy, conversation.next(turn)).status, 200);
          }
          assertNoTrap(envoy);
        });
      }
    }

    it("survives properties of any length and content", async () => {
      const random = seededRandom(5);
      const property = (): Uint8Array | typeof NOT_FOUND | undefined => {
        const kind = random.below(4);
        if (kind === 0) return NOT_FOUND;
        if (kind === 1) return undefined;
        return Uint8Array.from({ length: random.below(40) }, () => random.below(256));
      };
      const envoy = await startGateway({ target, property, trace: false });
      for (let index = 0; index < 300; index++) {
        const conversation = new Conversation(`s${index % 7}`).next(1);
        envoy.request({ path: CHAT_PATH, body: conversation.body() });
        if (index % 10 === 0) envoy.tick(500);
      }
      assertNoTrap(envoy);
      assert.equal(endedStreams(envoy), 300);
    });

    for (const address of ODD_ADDRESSES) {
      const shown = JSON.stringify(address.slice(0, 24));
      it(`never sends on an upstream address like ${shown}`, async () => {
        const property = (asked: string): Uint8Array | undefined =>
          asked.startsWith("upstream\0address") ? Buffer.from(address, "latin1") : undefined;
        const envoy = await startGateway({ target, property });
        const conversation = new Conversation("a");
        for (let turn = 1; turn <= 4; turn++) {
          const seen = converse(envoy, conversation.next(turn));
          assert.equal(seen.status, 200);
          for (const [name, value] of Object.entries(seen.upstreamHeaders ?? {})) {
            assert.ok(isPrintable(value), `${name} is clean`);
            assert.ok(value.length < 4096, `${name} is short`);
          }
        }
        assertNoTrap(envoy);
      });
    }

    it("survives odd session headers and does not repeat them", async () => {
      const envoy = await startGateway({ target });
      const values = [
        "",
        " ",
        "a\tb",
        "\x01\x02",
        "é",
        "\xff\xfe",
        HUGE,
        "null",
        "-1",
        "9".repeat(40),
      ];
      const names = ["x-session-id", "x-agent-session", "x-agent-turn", "x-agent-parent"];
      for (const name of names) {
        for (const value of values) {
          const headers: [string, string][] = [
            [name, value],
            [name, `${value}2`],
          ];
          const seen = converse(envoy, new Conversation("a").next(1), { headers });
          assert.equal(seen.status, 200);
          const told = seen.upstreamHeaders?.["x-smetric-session"] ?? "";
          assert.match(told, /^[0-9a-f]*$/);
        }
      }
      assertNoTrap(envoy);
    });

    it("shares one hash seed between workers and draws another for another gateway", async () => {
      const session = async (seed: number, worker: number): Promise<string | undefined> => {
        const envoy = await startGateway({ target, workers: 2, seed, startUs: seed * 1e15 });
        return converse(envoy, new Conversation("a"), { worker }).upstreamHeaders?.[
          "x-smetric-session"
        ];
      };
      assert.equal(await session(1, 0), await session(1, 1));
      assert.notEqual(await session(1, 0), await session(2, 0));
    });
  });
}
