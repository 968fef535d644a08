// SPDX-License-Identifier: Apache-2.0
// The live page: one page, one script, and events with everything that happened so far and since.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createParser } from "eventsource-parser";
import { request } from "undici";
import { LiveArm } from "../../../lab/replay/live/live-arm.ts";
import { LiveServer } from "../../../lab/replay/live/server.ts";
import type { LiveEvent } from "../../../lab/replay/live/state.ts";

/** The first `count` events of a page. */
async function readEvents(url: string, count: number, act: () => void): Promise<LiveEvent[]> {
  const { body } = await request(`${url}events`);
  const events: LiveEvent[] = [];
  const parser = createParser({
    onEvent: ({ data }) => events.push(JSON.parse(data) as LiveEvent),
  });
  const text = new TextDecoder();
  for await (const bytes of body) {
    if (events.length === 0) act();
    parser.feed(text.decode(bytes as Uint8Array, { stream: true }));
    if (events.length >= count) break;
  }
  return events;
}

describe("live page", () => {
  it("serves a page and a script that need nothing from elsewhere", async () => {
    const server = await LiveServer.start("title", ["fact"], 0);
    try {
      const page = await (await fetch(server.url)).text();
      const script = await (await fetch(`${server.url}page.js`)).text();
      assert.match(page, /src="\/page\.js"/);
      assert.doesNotMatch(page, /https?:\/\//);
      assert.ok(script.length > 50_000);
      assert.equal((await fetch(`${server.url}other`)).status, 404);
    } finally {
      await server.close();
    }
  });

  it("sends the state first and then every new point", async () => {
    const server = await LiveServer.start("title", ["fact"], 0);
    try {
      const arm = new LiveArm("filter", 2, (state, point) => server.point(state, point));
      server.addArm(arm.state);
      const events = await readEvents(server.url, 3, () => {
        server.setPhase("running");
        arm.tick(1000, [1, 3]);
      });
      assert.deepEqual(
        events.map((event) => event.type),
        ["state", "phase", "point"],
      );
      const last = events[2]!;
      assert.ok(last.type === "point");
      assert.deepEqual(last.point.inFlight, [1, 3]);
      assert.equal(last.point.hitRate, null);
    } finally {
      await server.close();
    }
  });
});
