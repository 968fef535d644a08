// SPDX-License-Identifier: Apache-2.0
// What the filter counts arrives in Envoy's own stats, with labels where the bootstrap names them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { send, takeTurn } from "./harness/client.ts";
import { Conversation } from "./harness/conversation.ts";
import { startFleet, until } from "./harness/fleet.ts";

test("Prometheus shows outcomes, decisions, pins and slots as labels", async (t) => {
  // Sticky leaves first turns to Envoy: how many are pinned does not depend on when endpoints were found.
  const fleet = await startFleet(t, { configuration: { policy: "sticky" } });
  for (let i = 0; i < 8; i++) {
    const session = new Conversation(`Question ${i}`);
    for (let turn = 0; turn < 3; turn++) await takeTurn(fleet.envoy.url, session, `more ${turn}`);
  }
  await send(fleet.envoy.url, "not JSON");
  await send(fleet.envoy.url, "", { method: "GET", path: "/v1/models" });

  const scrape = async (): Promise<string[]> => {
    const response = await fetch(`${fleet.envoy.adminUrl}/stats/prometheus`);
    return (await response.text()).split("\n").filter((line) => line.startsWith("smetric_"));
  };
  const expected = [
    'smetric_streams{outcome="conversation"} 24',
    'smetric_streams{outcome="malformed"} 1',
    'smetric_streams{outcome="passed"} 1',
    'smetric_decisions{reason="first_turn"} 8',
    'smetric_decisions{reason="home"} 16',
    'smetric_pins{result="set"} 16',
    'smetric_pins{result="obeyed"} 16',
    'smetric_pins{result="moved"} 0',
    "smetric_follow_ups{} 16",
    'smetric_in_flight{fleet="llm",slot="0"} 0',
  ];
  let lines: string[] = [];
  await until("all streams are counted", async () => {
    lines = await scrape();
    return lines.includes('smetric_streams{outcome="passed"} 1');
  });
  for (const line of expected)
    assert.ok(lines.includes(line), `${line}\nis not in\n${lines.join("\n")}`);
});
