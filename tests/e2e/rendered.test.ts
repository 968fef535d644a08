// SPDX-License-Identifier: Apache-2.0
// What a control plane does beyond the chain itself: the filter by extension discovery, and labels in the bootstrap.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { connectionManagers, type Bootstrap } from "../../envoy/bootstrap.ts";
import { takeTurn } from "./harness/client.ts";
import { Conversation } from "./harness/conversation.ts";
import { outcomes, startFleet, until } from "./harness/fleet.ts";

const TURNS = 4;
const WASM = "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm";

/** Takes the Wasm filters out of the chain and into a file that Envoy asks for, as Istio's agent answers it. */
function discoverFilters(t: TestContext): (bootstrap: Bootstrap) => void {
  const folder = mkdtempSync(join(tmpdir(), "smetric-extensions-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "extensions.json");
  return (bootstrap) => {
    bootstrap["node"] = { id: "test", cluster: "test" };
    for (const manager of connectionManagers(bootstrap)) {
      manager.http_filters = manager.http_filters.map((filter) => {
        if (filter.typed_config["@type"] !== WASM) return filter;
        const resource = {
          "@type": "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
          ...filter,
        };
        writeFileSync(path, JSON.stringify({ resources: [resource] }));
        const config_source = { resource_api_version: "V3", path_config_source: { path } };
        const config_discovery = { config_source, type_urls: [WASM] };
        return { name: filter.name, config_discovery } as unknown as typeof filter;
      });
    }
  };
}

async function homesOf(url: string, session: Conversation): Promise<(string | undefined)[]> {
  for (let turn = 1; turn <= TURNS; turn++) {
    assert.equal((await takeTurn(url, session, `And ${turn}?`)).status, 200);
  }
  return session.messages
    .filter(({ role }) => role === "assistant")
    .map(({ content }) => content?.split(" of ")[1]);
}

test("the filter that extension discovery delivers sends follow-ups home", async (t) => {
  const edit = discoverFilters(t);
  const fleet = await startFleet(t, { bootstrap: "rendered/istio-route", edit });
  for (let index = 0; index < 8; index++) {
    const homes = await homesOf(fleet.envoy.url, new Conversation(`Question ${index}`));
    assert.equal(new Set(homes).size, 1, homes.join(", "));
  }
});

test("the bootstrap that Envoy Gateway renders gives the counters their labels", async (t) => {
  const fleet = await startFleet(t, { bootstrap: "rendered/envoy-gateway-route" });
  await homesOf(fleet.envoy.url, new Conversation("hello"));
  await until("all are counted", async () => {
    return (await outcomes(fleet))["conversation"] === TURNS;
  });
  const counters = await (await fetch(`${fleet.envoy.adminUrl}/stats/prometheus`)).text();
  const own = counters.split("\n").filter((line) => line.startsWith("smetric_"));
  assert.ok(own.includes(`smetric_streams{outcome="conversation"} ${TURNS}`), own.join("\n"));
  assert.ok(
    own.some((line) => /^smetric_in_flight\{fleet="[^"]+",slot="0"\} 0$/.test(line)),
    own.join("\n"),
  );
});
