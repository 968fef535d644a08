// SPDX-License-Identifier: Apache-2.0
// The fleet grows, shrinks and is replaced under way: newcomers are found, the lost are forgotten, no client notices.
import assert from "node:assert/strict";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { takeTurn } from "./harness/client.ts";
import { Conversation } from "./harness/conversation.ts";
import type { Endpoint } from "./harness/endpoint.ts";
import { editClusters, quickHealthChecks, startFleet, until, type Fleet } from "./harness/fleet.ts";
import { on, WAYS } from "./harness/ways.ts";

/** Endpoint discovery from a file that Envoy watches. */
class Discovery {
  readonly #folder = mkdtempSync(join(tmpdir(), "smetric-endpoints-"));
  readonly path = join(this.#folder, "endpoints.json");

  announce(endpoints: Endpoint[]): void {
    const lb_endpoints = endpoints.map(({ address }) => {
      const [host, port] = address.split(":");
      const socket_address = { address: host, port_value: Number(port) };
      return { endpoint: { address: { socket_address } } };
    });
    const resource = {
      "@type": "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
      cluster_name: "llm",
      endpoints: [{ lb_endpoints }],
    };
    const draft = `${this.path}.draft`;
    writeFileSync(draft, JSON.stringify({ resources: [resource] }));
    renameSync(draft, this.path); // Envoy notices moves, not writes.
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function clusterStat(fleet: Fleet, name: string): Promise<number> {
  const stat = `cluster.llm.${name}`;
  return (await fleet.envoy.stats(`^${stat}$`))[stat] ?? 0;
}

async function takeTurns(fleet: Fleet, sessions: Conversation[]): Promise<string[]> {
  return Promise.all(
    sessions.map(async (session) => {
      const reply = await takeTurn(fleet.envoy.url, session, "go on");
      assert.equal(reply.status, 200, reply.body.toString());
      return session.messages.at(-2)?.content?.split(" of ")[1] ?? "";
    }),
  );
}

function sessionsOf(name: string, count: number): Conversation[] {
  return Array.from({ length: count }, (_, index) => new Conversation(`${name} ${index}`));
}

/** Moves the fleet to `next`; what is left out dies. */
async function scale(fleet: Fleet, discovery: Discovery, next: Endpoint[]): Promise<void> {
  const updates = await clusterStat(fleet, "update_success");
  for (const endpoint of next) await endpoint.start();
  discovery.announce(next);
  await until("the update is read", async () => {
    return (await clusterStat(fleet, "update_success")) > updates;
  });
  await Promise.all(
    fleet.endpoints.filter((endpoint) => !next.includes(endpoint)).map((lost) => lost.stop()),
  );
  // A removed endpoint stays a member until its health check fails.
  await until("Envoy follows", async () => {
    const total = await clusterStat(fleet, "membership_total");
    return total === next.length && (await clusterStat(fleet, "membership_healthy")) === total;
  });
}

async function startDiscovered(
  t: TestContext,
  way: (typeof WAYS)[number],
): Promise<[Fleet, Discovery]> {
  const discovery = new Discovery();
  t.after(() => discovery.remove());
  const fleet = await startFleet(t, {
    ...way,
    size: 15,
    edit: (bootstrap) => {
      quickHealthChecks(bootstrap);
      editClusters((cluster) => {
        cluster.type = "EDS";
        cluster["eds_cluster_config"] = {
          service_name: "llm",
          eds_config: { resource_api_version: "V3", path_config_source: { path: discovery.path } },
        };
        delete (cluster as Partial<typeof cluster>).load_assignment;
      })(bootstrap);
      bootstrap["node"] = { id: "test", cluster: "test" };
      writeFileSync(discovery.path, JSON.stringify({ resources: [] }));
    },
  });
  return [fleet, discovery];
}

for (const way of WAYS) {
  test(on(way, "the fleet goes from 4 to 12 to 3 to 3 others without an error"), async (t) => {
    const [fleet, discovery] = await startDiscovered(t, way);
    const four = fleet.endpoints.slice(0, 4);
    const twelve = fleet.endpoints.slice(0, 12);
    const three = fleet.endpoints.slice(0, 3);
    const others = fleet.endpoints.slice(12);
    const addresses = (endpoints: Endpoint[]): string[] => endpoints.map(({ address }) => address);

    await scale(fleet, discovery, four);
    const sessions = sessionsOf("Early", 24);
    const homes = await takeTurns(fleet, sessions);
    assert.deepEqual(await takeTurns(fleet, sessions), homes);

    await scale(fleet, discovery, twelve);
    assert.deepEqual(await takeTurns(fleet, sessions), homes);
    const late = sessionsOf("Late", 96);
    await takeTurns(fleet, late);
    for (const newcomer of twelve.slice(4)) {
      assert.ok(newcomer.exchanges.length > 0, `${newcomer.address} was not found`);
    }

    await scale(fleet, discovery, three);
    const fewer = await takeTurns(fleet, sessions);
    for (const [index, home] of homes.entries()) {
      assert.ok(addresses(three).includes(fewer[index] ?? ""));
      if (addresses(three).includes(home)) assert.equal(fewer[index], home);
    }
    assert.deepEqual(await takeTurns(fleet, sessions), fewer);

    await scale(fleet, discovery, others);
    const moved = await takeTurns(fleet, sessions);
    for (const endpoint of moved) assert.ok(addresses(others).includes(endpoint));
    assert.deepEqual(await takeTurns(fleet, sessions), moved);
    await fleet.nothingInFlight();
  });
}
