// SPDX-License-Identifier: Apache-2.0
// What the filter counts arrives in Envoy's own stats, with labels where the bootstrap names them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { send, takeTurn } from "./harness/client.ts";
import { Conversation } from "./harness/conversation.ts";
import { tellCached } from "./harness/endpoint.ts";
import { startFleet, until } from "./harness/fleet.ts";

test("Prometheus shows outcomes, decisions, pins, turns and slots as labels", async (t) => {
  // Sticky leaves first turns to Envoy: how many are pinned does not depend on when endpoints were found.
  const configuration = { policy: "sticky" };
  const fleet = await startFleet(t, { configuration, answer: tellCached });
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
    'smetric_reported_prompt_tokens{turns="1"} 800',
    'smetric_reported_prompt_tokens{turns="2_to_3"} 1600',
    'smetric_cached_tokens{turns="1"} 480',
    'smetric_cached_tokens{turns="2_to_3"} 960',
    'smetric_cached_tokens{turns="16_up"} 0',
    'smetric_in_flight{fleet="llm",slot="0"} 0',
  ];
  // Each worker gives its counts with a tick of its own.
  let lines: string[] = [];
  const missing = (): string[] => expected.filter((line) => !lines.includes(line));
  await until("all streams are counted", async () => {
    lines = await scrape();
    return missing().length === 0;
  }).catch(() => assert.fail(`${missing().join("\n")}\nis not in\n${lines.join("\n")}`));
});
