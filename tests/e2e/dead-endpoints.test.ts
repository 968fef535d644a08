// SPDX-License-Identifier: Apache-2.0
// An endpoint dies, fails its health check or is ejected: no client sees an error, its sessions find a new home and stay.
import assert from "node:assert/strict";
import { test } from "node:test";
import { takeTurn } from "./harness/client.ts";
import { Conversation } from "./harness/conversation.ts";
import type { Endpoint } from "./harness/endpoint.ts";
import { editClusters, quickHealthChecks, startFleet, until, type Fleet } from "./harness/fleet.ts";
import { checksHealth, honoursHealth, on, WAYS } from "./harness/ways.ts";

const SESSIONS = 32;

function startSessions(): Conversation[] {
  return Array.from({ length: SESSIONS }, (_, index) => new Conversation(`Question ${index}`));
}

/** One turn of all sessions at once; answers the endpoint that served each. */
async function takeTurns(fleet: Fleet, sessions: Conversation[], text: string): Promise<string[]> {
  return Promise.all(
    sessions.map(async (session, index) => {
      const reply = await takeTurn(fleet.envoy.url, session, `${text} ${index}`);
      assert.equal(reply.status, 200, reply.body.toString());
      return session.messages.at(-2)?.content?.split(" of ")[1] ?? "";
    }),
  );
}

/** The sessions of `lost` live elsewhere from now on, all others stay where they are. */
async function assertMovedForGood(
  fleet: Fleet,
  sessions: Conversation[],
  before: string[],
  lost: Endpoint,
): Promise<void> {
  const after = await takeTurns(fleet, sessions, "after the loss");
  after.forEach((endpoint, index) => {
    assert.notEqual(endpoint, lost.address);
    if (before[index] !== lost.address) assert.equal(endpoint, before[index]);
  });
  assert.deepEqual(await takeTurns(fleet, sessions, "and again"), after);
}

/** Where most sessions live: several requests must fail before an endpoint is ejected. */
function busiestOf(fleet: Fleet, homes: string[]): Endpoint {
  const sessions = (address: string): number => homes.filter((home) => home === address).length;
  const [busiest] = [...homes].sort((one, other) => sessions(other) - sessions(one));
  return fleet.endpointAt(busiest ?? "");
}

/** Only connections that fail tell of an endpoint, and an ejection outlasts the test on however slow a machine. */
const ejectForGood = editClusters((cluster) => {
  delete cluster["health_checks"];
  (cluster["outlier_detection"] as Record<string, unknown>)["base_ejection_time"] = "3600s";
});

async function healthyEndpoints(fleet: Fleet): Promise<number | undefined> {
  return (await fleet.envoy.stats("^cluster\\.llm\\.membership_healthy$"))[
    "cluster.llm.membership_healthy"
  ];
}

for (const way of WAYS) {
  test(on(way, "an endpoint killed between turns costs no error"), async (t) => {
    const fleet = await startFleet(t, way);
    const sessions = startSessions();
    await takeTurns(fleet, sessions, "first");
    const homes = await takeTurns(fleet, sessions, "second");
    const lost = busiestOf(fleet, homes);
    await lost.stop();
    await assertMovedForGood(fleet, sessions, homes, lost);
  });
}

for (const way of WAYS.filter(checksHealth)) {
  test(
    on(way, "an endpoint that fails its health check is left, and not returned to"),
    async (t) => {
      const fleet = await startFleet(t, { ...way, edit: quickHealthChecks });
      const sessions = startSessions();
      const homes = await takeTurns(fleet, sessions, "first");
      const lost = busiestOf(fleet, homes);
      lost.healthy = false;
      await until("Envoy notices", async () => (await healthyEndpoints(fleet)) === 3);
      if (!honoursHealth(way)) {
        await takeTurns(fleet, sessions, "still served");
        return;
      }
      await assertMovedForGood(fleet, sessions, homes, lost);
      lost.healthy = true;
      await until("Envoy notices", async () => (await healthyEndpoints(fleet)) === 4);
      const settled = await takeTurns(fleet, sessions, "recovered");
      assert.equal(settled.includes(lost.address), false);
    },
  );
}

for (const way of WAYS) {
  test(on(way, "an ejected endpoint is left without an error"), async (t) => {
    const fleet = await startFleet(t, { ...way, edit: ejectForGood });
    const sessions = startSessions();
    const homes = await takeTurns(fleet, sessions, "first");
    const lost = busiestOf(fleet, homes);
    await lost.stop();
    await assertMovedForGood(fleet, sessions, homes, lost);
    const name = "cluster.llm.outlier_detection.ejections_active";
    await until("it is ejected", async () => (await fleet.envoy.stats(`^${name}$`))[name] === 1);
    await lost.start();
    const settled = await takeTurns(fleet, sessions, "back again");
    assert.equal(settled.includes(lost.address), false);
  });
}
