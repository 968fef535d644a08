// SPDX-License-Identifier: Apache-2.0
// Whole conversations through one gateway, interleaved: the verified turn is the true one, and no pin is wrong.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ChatBodies } from "../../lab/replay/bodies/chat-body.ts";
import { airlineSource } from "../../lab/replay/workloads/airline.ts";
import { workloadNamed } from "../../lab/replay/workloads/named.ts";
import {
  type Call,
  type Item,
  type SessionSource,
  takeSessions,
} from "../../lab/replay/workloads/session.ts";
import { CHAT_PATH, startGateway } from "./harness.ts";

const EXCHANGE_MS = 20;

/** Whether the history of `later` begins with all that `earlier` sent. */
function continues(later: Item, earlier: Item): boolean {
  for (let item: Item | null = later; item !== null; item = item.parent) {
    if (item === earlier) return true;
  }
  return false;
}

/**
 * Plays all sessions turn by turn, one call of each in every round; without any session id. A pin is right when
 * its endpoint served the very request that this one continues: of twins, any one that did.
 */
async function play(source: SessionSource, count: number): Promise<number> {
  const envoy = await startGateway({ workers: 2, trace: false });
  const bodies = new ChatBodies({ model: "model-a", bytesPerToken: 2, synthetic: false });
  const sessions = takeSessions(source, count);
  const servedBy = new Map<string, Set<string>>();
  const verified = new Map<Call, number>();
  const rounds = Math.max(...sessions.map(({ calls }) => calls.length));
  let followUps = 0;
  for (let round = 0; round < rounds; round++) {
    for (const session of sessions) {
      const call = session.calls[round];
      if (call === undefined) continue;
      const body = bodies.body(session, call);
      const seen = envoy.request({ path: CHAT_PATH, body, worker: followUps % 2 });
      envoy.tick(EXCHANGE_MS);
      const what = `${session.id} call ${round + 1}`;
      const told = seen.upstreamHeaders ?? {};
      assert.equal(told["x-smetric-turn"], String(call.turn), what);
      const before = session.calls.slice(0, round).findLast(({ tip }) => continues(call.tip, tip));
      const known = before === undefined ? 1 : verified.get(before)! + call.turn - before.turn;
      verified.set(call, known);
      if (before !== undefined) {
        assert.equal(told["x-smetric-verified-turn"], String(known), what);
        const holders = servedBy.get(bodies.body(session, before));
        const isPinned = told["x-smetric-decision"] === "home";
        assert.ok(!isPinned || holders?.has(seen.endpoint ?? ""), `${what} has a wrong pin`);
        followUps++;
      }
      servedBy.set(body, (servedBy.get(body) ?? new Set()).add(seen.endpoint ?? ""));
    }
  }
  return followUps;
}

describe("The verified turn equals the truth and every pin is right", () => {
  it("on all airline conversations", async () => {
    assert.ok((await play(airlineSource({ seed: 1, gapCapMs: 1_000 }), 120)) > 1_000);
  });

  it("on sessions shaped like a coding agent's", async () => {
    const options = { seed: 1, tokenScale: 0.02, starts: "genuine" } as const;
    assert.ok((await play(workloadNamed("coding-agent", options), 40)) > 400);
  });
});
