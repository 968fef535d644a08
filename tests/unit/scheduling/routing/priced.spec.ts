// SPDX-License-Identifier: Apache-2.0
// The policy `priced`, on picks worked out by hand with round prices.
import { FirstTurn, Tier } from "../../../../assembly/config/options";
import { Reason } from "../../../../assembly/metrics/reason";
import { NO_ENDPOINT } from "../../../../assembly/scheduling/decision";
import { Priced } from "../../../../assembly/scheduling/routing/priced";
import { NOW_MS, Scene } from "./scene";

/** w1 100 us, w2 10 us, G 0.5, decode price 0.7 * 1e-7 * 1000 = 70 us per context token. */
function priced(scene: Scene): Priced {
  const learned = scene.learned;
  learned.uncachedSeconds = 1e-4;
  learned.fetchedSeconds = 1e-5;
  learned.returnedShare = 0.5;
  learned.tpotSum = 0.01;
  learned.decodedContextSum = 100_000;
  learned.outputTokens = 1000;
  return new Priced(scene.options, learned);
}

describe("priced, without a home", () => {
  it("sends a first turn where queue, decode pressure and committed tokens cost least", () => {
    // w1 q: 1.0 s | 70 us * 20,000 = 1.4 s | 0.3 * 55 us * 40,000 = 0.66 s, all plus the same own work
    const scene = new Scene(3, 8_000).load(0, 10_000).load(1, 0, 20_000).load(2, 0, 0, 0, 40_000);
    expect(scene.pick(priced(scene))).toBe(12);
    expect(scene.decision.reason).toBe(Reason.FirstTurn);
    expect(scene.decision.uncachedTokens).toBe(8_000);
  });

  it("weighs committed tokens by what a refill costs: with a complete tier hardly at all", () => {
    // committed 200,000: rho 100 us -> 6 s without a tier, 10 us -> 0.6 s with a full one; q costs 1 s
    const scene = new Scene(2, 8_000).load(0, 10_000).load(1, 0, 0, 0, 200_000);
    scene.options.tier = Tier.None;
    expect(scene.pick(priced(scene))).toBe(10);
    scene.options.tier = Tier.Full;
    expect(scene.pick(priced(scene))).toBe(11);
  });

  it("prices the head that an endpoint has served once, so that an app does not herd there", () => {
    // 6,000 tokens of head: half of them come from the tier elsewhere, 0.5 s + 0.03 s against 0.2 s
    const scene = new Scene(2, 8_000).load(0, 3_200);
    scene.request.headTokens = 6_000;
    scene.loads.headServed[0] = true;
    expect(scene.pick(priced(scene))).toBe(10);
    expect(scene.decision.uncachedTokens).toBe(2_000);
    scene.load(0, 3_400);
    expect(scene.pick(priced(scene))).toBe(11);
  });

  it("does not count the session's own share of the committed tokens", () => {
    const scene = new Scene(2, 50_000).load(0, 0, 0, 0, 60_000).load(1, 0, 0, 0, 20_000);
    scene.home(0, 50_000, NOW_MS - 400_000);
    scene.loads.horizonMs[0] = NOW_MS - 300_000;
    scene.homes.seenTokens = 0;
    expect(scene.pick(priced(scene))).toBe(10);
    expect(scene.decision.reason).toBe(Reason.Cold);
  });

  it("leaves placement to Envoy when told so, or while endpoints are unknown", () => {
    const scene = new Scene(2, 8_000);
    scene.loads.complete = false;
    expect(scene.pick(priced(scene))).toBe(NO_ENDPOINT);
    scene.loads.complete = true;
    scene.options.firstTurn = FirstTurn.LeastRequest;
    expect(scene.pick(priced(scene))).toBe(NO_ENDPOINT);
    scene.loads.count = 0;
    scene.options.firstTurn = FirstTurn.Priced;
    expect(scene.pick(priced(scene))).toBe(NO_ENDPOINT);
  });

  it("chooses among equals by chance, each of them about as often", () => {
    const scene = new Scene(4, 8_000).load(3, 1);
    const policy = priced(scene);
    const counts = new StaticArray<i32>(4);
    for (let i = 0; i < 3_000; i++) {
      const slot = scene.pick(policy, <u64>i * 0x9e3779b97f4a7c15);
      counts[slot - 10] += 1;
    }
    expect(counts[3]).toBe(0);
    for (let i = 0; i < 3; i++) expect(counts[i]).toBeGreaterThan(900);
  });
});

describe("priced, with a home", () => {
  it("stays at home while no other endpoint is two seconds cheaper", () => {
    // home: w1 q + 10 * 0.1 s own; elsewhere 10 * (w1 * 26,000 + w2 * 25,000) = 28.5 s
    const scene = new Scene(2, 51_000).home(0, 50_000).load(0, 290_000);
    expect(scene.pick(priced(scene))).toBe(10);
    expect(scene.decision.reason).toBe(Reason.Home);
    expect(scene.decision.uncachedTokens).toBe(1_000);
  });

  it("moves once the home costs more than the recompute tenfold plus the gap", () => {
    const scene = new Scene(2, 51_000).home(0, 50_000).load(0, 296_000);
    expect(scene.pick(priced(scene))).toBe(11);
    expect(scene.decision.reason).toBe(Reason.Migrate);
    expect(scene.decision.uncachedTokens).toBe(26_000);
  });

  it("moves at once where a tier is complete, and never lately moved sessions where there is none", () => {
    // complete tier: elsewhere 10 * (0.1 + 0.5) = 6 s; none: 10 * 5.1 = 51 s
    const scene = new Scene(2, 51_000).home(0, 50_000).load(0, 80_000);
    scene.options.tier = Tier.Full;
    scene.homes.movedMs = NOW_MS - 1_000;
    expect(scene.pick(priced(scene))).toBe(11);
    scene.options.tier = Tier.None;
    scene.load(0, 600_000);
    expect(scene.pick(priced(scene))).toBe(10);
    scene.homes.movedMs = NOW_MS - 61_000;
    expect(scene.pick(priced(scene))).toBe(11);
  });

  it("wants four seconds where no tier returns what a move leaves behind", () => {
    // home: w1 q + 1 s; elsewhere 10 * 5.1 s = 51 s
    const scene = new Scene(2, 51_000).home(0, 50_000).load(0, 535_000);
    scene.options.tier = Tier.None;
    expect(scene.pick(priced(scene))).toBe(10);
    scene.load(0, 545_000);
    expect(scene.pick(priced(scene))).toBe(11);
  });

  it("forgets a home whose belief is older than an eviction seen there", () => {
    const scene = new Scene(2, 51_000).home(0, 50_000, NOW_MS - 400_000).load(0, 10);
    scene.loads.horizonMs[0] = NOW_MS - 350_000;
    expect(scene.pick(priced(scene))).toBe(11);
    expect(scene.decision.reason).toBe(Reason.Cold);
  });

  it("keeps an evicted session at home where contexts are evicted that are soon asked for again", () => {
    // nothing is held anywhere; 20 * 0.5 * w1 * 51,000 = 51 s displaced and a gap of 2 s against the queue at home
    const scene = new Scene(2, 51_000).home(0, 50_000).load(0, 520_000);
    scene.loads.horizonMs[0] = NOW_MS - 5_000;
    expect(scene.pick(priced(scene))).toBe(10);
    expect(scene.decision.reason).toBe(Reason.Cold);
    expect(scene.decision.uncachedTokens).toBe(26_000);
    scene.load(0, 540_000);
    expect(scene.pick(priced(scene))).toBe(11);
    expect(scene.decision.reason).toBe(Reason.Cold);
    scene.options.gateways = 2;
    scene.request.session = 7;
    const elsewhere = scene.pick(priced(scene));
    scene.load(0, 0);
    expect(scene.pick(priced(scene))).toBe(elsewhere);
  });

  it("prices what a session displaces once any endpoint evicts what is in use", () => {
    // 28.5 s + 51 s against home 1.0 s + q
    const scene = new Scene(3, 51_000).home(0, 50_000).load(0, 700_000).load(2, 800_000);
    expect(scene.pick(priced(scene))).toBe(11);
    scene.loads.horizonMs[2] = NOW_MS - 100_000;
    expect(scene.pick(priced(scene))).toBe(10);
    scene.load(0, 820_000);
    expect(scene.pick(priced(scene))).toBe(11);
    expect(scene.decision.reason).toBe(Reason.Migrate);
    scene.load(0, 700_000);
    scene.loads.horizonMs[2] = NOW_MS - 130_000;
    expect(scene.pick(priced(scene))).toBe(11);
  });

  it("treats a conversation under another head as cold, and counts on what the two heads share", () => {
    const scene = new Scene(2, 51_000).home(0, 9_000).load(0, 20_000);
    scene.options.tier = Tier.None;
    scene.homes.headDiffers = true;
    expect(scene.pick(priced(scene))).toBe(11);
    expect(scene.decision.reason).toBe(Reason.Cold);
    expect(scene.decision.uncachedTokens).toBe(51_000);
    scene.load(0, 5_000);
    expect(scene.pick(priced(scene))).toBe(10);
    expect(scene.decision.uncachedTokens).toBe(42_000);
  });

  it("goes to the deeper of two homes", () => {
    const scene = new Scene(3, 51_000).home(1, 30_000).home(2, 50_000);
    expect(scene.pick(priced(scene))).toBe(12);
  });

  it("holds on to a session longer in a prefill pool", () => {
    // 3 * 2.85 s + 51 s displaced against home 0.3 s + q
    const scene = new Scene(2, 51_000).home(0, 50_000).load(0, 400_000);
    expect(scene.pick(priced(scene))).toBe(11);
    scene.options.prefillPool = true;
    expect(scene.pick(priced(scene))).toBe(10);
    scene.load(0, 610_000);
    expect(scene.pick(priced(scene))).toBe(11);
  });

  it("moves early in a prefill pool with a complete tier, where only the queue waits", () => {
    // 3 * 0.6 s = 1.8 s and a gap of 1 s against home 0.3 s + q; elsewhere than in a pool 10 * 0.6 s and 2 s
    const scene = new Scene(2, 51_000).home(0, 50_000).load(0, 26_000);
    scene.options.tier = Tier.Full;
    expect(scene.pick(priced(scene))).toBe(10);
    scene.options.prefillPool = true;
    expect(scene.pick(priced(scene))).toBe(11);
  });
});

describe("priced, in one of several gateways that share nothing", () => {
  it("sends what it does not know where every gateway would, whatever its own slots", () => {
    const here = new Scene(4, 8_000);
    const there = new Scene(4, 8_000);
    for (let i = 0; i < 4; i++) there.loads.endpoints[i] = here.loads.endpoints[3 - i];
    here.options.gateways = 2;
    there.options.gateways = 2;
    there.load(0, 90_000, 90_000).load(2, 90_000, 90_000);
    there.request.turn = 7;
    const counts = new StaticArray<i32>(4);
    for (let session = 1; session <= 400; session++) {
      here.request.session = <u64>session;
      there.request.session = <u64>session;
      const row = here.pick(priced(here)) - 10;
      expect(there.pick(priced(there)) - 10).toBe(3 - row);
      counts[row] += 1;
    }
    for (let i = 0; i < 4; i++) expect(counts[i]).toBeGreaterThan(70);
    expect(here.decision.reason).toBe(Reason.FirstTurn);
    expect(there.decision.reason).toBe(Reason.Cold);
  });

  it("practically never moves a session, unless a tier is complete", () => {
    // elsewhere 28.5 s; the home costs 1.0 s and its queue
    const scene = new Scene(2, 51_000).home(0, 50_000).load(0, 450_000);
    scene.options.gateways = 2;
    expect(scene.pick(priced(scene))).toBe(10);
    scene.load(0, 480_000);
    expect(scene.pick(priced(scene))).toBe(11);
    scene.load(0, 80_000);
    scene.options.tier = Tier.Full;
    expect(scene.pick(priced(scene))).toBe(11);
  });
});
