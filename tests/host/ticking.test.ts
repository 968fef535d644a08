// SPDX-License-Identifier: Apache-2.0
// A VM without streams ticks rarely; with the first stream it is as attentive as ever.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { VirtualEnvoy } from "../../lab/virtual-envoy/index.ts";
import {
  CHAT_PATH,
  Conversation,
  converse,
  type GatewayOptions,
  outcomes,
  startGateway,
  TARGETS,
} from "./harness.ts";

/** Longer than the filter waits for the next stream before it calls itself calm. */
const CALM_MS = 12_000;
const SPAN_MS = 10_000;
const HOLD_STALL_MS = 300;
/** Ticks of the default period in the span, in the main thread and one worker. */
const BUSY_TICKS = (2 * SPAN_MS) / 50;
const CALM_TICKS = (2 * SPAN_MS) / 500;

/** Each tick asks for the time once. */
function ticksIn(envoy: VirtualEnvoy, ms: number): number {
  const clock = (): number => envoy.hostCalls.get("proxy_get_current_time_nanoseconds") ?? 0;
  const before = clock();
  envoy.tick(ms);
  return clock() - before;
}

async function start(options: GatewayOptions): Promise<VirtualEnvoy> {
  return startGateway({ workers: 1, trace: false, countHostCalls: true, ...options });
}

for (const target of TARGETS) {
  describe(`Ticks of the ${target} module`, () => {
    it("become rare where no streams come, whatever came before", async () => {
      const envoy = await start({ target });
      assert.equal(ticksIn(envoy, SPAN_MS), BUSY_TICKS);
      envoy.tick(CALM_MS);
      assert.equal(ticksIn(envoy, SPAN_MS), CALM_TICKS);
      converse(envoy, new Conversation("a"));
      assert.ok(ticksIn(envoy, 1_000) >= 20, "the worker ticks every 50 ms again");
      envoy.tick(CALM_MS);
      assert.equal(ticksIn(envoy, SPAN_MS), CALM_TICKS);
    });

    it("stay as they are while a stream is open, however long", async () => {
      const envoy = await start({ target });
      envoy.tick(2 * CALM_MS);
      envoy.send({ path: CHAT_PATH, body: new Conversation("a").body(), response: false });
      envoy.tick(2 * CALM_MS);
      assert.equal(ticksIn(envoy, SPAN_MS), BUSY_TICKS / 2 + CALM_TICKS / 2);
    });

    it("count and release the first stream after a calm as any other", async () => {
      const configuration = { hold_stall_ms: HOLD_STALL_MS };
      const envoy = await start({ target, configuration });
      envoy.tick(2 * CALM_MS);
      const stuck = envoy.openStream({ path: CHAT_PATH });
      stuck.sendChunk(Buffer.from('{"model":"m",'));
      envoy.tick(HOLD_STALL_MS + 100);
      assert.equal(stuck.held, false);
      stuck.abort();
      assert.deepEqual(outcomes(envoy), { stalled: 1 });
    });

    it("release what is stuck when the clock was set back", async () => {
      const envoy = await start({ target, configuration: { hold_stall_ms: HOLD_STALL_MS } });
      const { surroundings } = envoy.workers[0]!.vm;
      const real = surroundings.clock;
      let backUs = 0;
      const clock = {
        get nowUs() {
          return real.nowUs - backUs;
        },
      };
      Object.defineProperty(surroundings, "clock", { value: clock });
      const open = (): ReturnType<VirtualEnvoy["openStream"]> => {
        const stream = envoy.openStream({ path: CHAT_PATH });
        stream.sendChunk(Buffer.from('{"model":"m",'));
        return stream;
      };
      const early = open();
      envoy.tick(200);
      backUs = 3_600_000_000;
      envoy.tick(200);
      const late = open();
      envoy.tick(2 * HOLD_STALL_MS);
      assert.deepEqual([early.held, late.held], [false, false]);
    });

    it("are never more often than they were configured to be", async () => {
      const envoy = await start({ target, configuration: { tick_ms: 1000 } });
      envoy.tick(2 * CALM_MS);
      assert.equal(ticksIn(envoy, SPAN_MS), 2 * 10);
    });
  });
}
