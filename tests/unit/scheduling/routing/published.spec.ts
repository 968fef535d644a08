// SPDX-License-Identifier: Apache-2.0
// The published policies and the plain baselines, on picks worked out by hand.
import { FirstTurn, PolicyKind, Tier } from "../../../../assembly/config/options";
import { Reason } from "../../../../assembly/metrics/reason";
import { NO_ENDPOINT } from "../../../../assembly/scheduling/decision";
import { policyOf } from "../../../../assembly/scheduling/routing/policies";
import { nextFreeBlocks } from "../../allocations";
import { Scene } from "./scene";

function slotBy(kind: PolicyKind, scene: Scene): i32 {
  return scene.pick(policyOf(kind, scene.options, scene.learned));
}

describe("smetric-v1", () => {
  it("places first turns by tokens in flight", () => {
    const scene = new Scene(3, 8_000).load(0, 0, 300).load(1, 9_000, 100, 5).load(2, 0, 200);
    expect(slotBy(PolicyKind.SmetricV1, scene)).toBe(11);
    expect(scene.decision.reason).toBe(Reason.FirstTurn);
  });

  it("stays home up to twice the mean load and moves above it", () => {
    // mean of (x, 100, 100): home stays while 3 x <= 2 (x + 200), x <= 400
    const scene = new Scene(3, 51_000).home(0, 50_000).load(1, 0, 100).load(2, 0, 101);
    scene.load(0, 0, 402);
    expect(slotBy(PolicyKind.SmetricV1, scene)).toBe(10);
    expect(scene.decision.reason).toBe(Reason.Home);
    scene.load(0, 0, 403);
    expect(slotBy(PolicyKind.SmetricV1, scene)).toBe(11);
    expect(scene.decision.reason).toBe(Reason.Migrate);
  });

  it("never moves for load where no tier exists", () => {
    const scene = new Scene(3, 51_000).home(0, 50_000).load(0, 0, 9_000);
    scene.options.tier = Tier.None;
    expect(slotBy(PolicyKind.SmetricV1, scene)).toBe(10);
  });

  it("treats a home with less than half of the expected prefix as evicted", () => {
    const scene = new Scene(2, 51_000).home(0, 20_000).load(0, 0, 1);
    scene.homes.seenTokens = 50_000;
    expect(slotBy(PolicyKind.SmetricV1, scene)).toBe(11);
    expect(scene.decision.reason).toBe(Reason.Cold);
  });
});

describe("smetric-v2", () => {
  it("places first turns by pending prefill, then by requests in flight", () => {
    const scene = new Scene(3, 8_000).load(0, 5).load(1, 0, 0, 3).load(2, 0, 0, 2);
    expect(slotBy(PolicyKind.SmetricV2, scene)).toBe(12);
  });

  it("stays home while half of the TTFT objective is kept and moves when it is not", () => {
    // objective of 48,000 tokens: 1 + 3 = 4 s, half of it 2 s; linear part 1e-4 / 1.48 s a token
    const scene = new Scene(2, 48_000).home(0, 48_000);
    scene.learned.uncachedSeconds = 1.48e-4;
    scene.options.tier = Tier.Full;
    scene.load(0, 19_990);
    expect(slotBy(PolicyKind.SmetricV2, scene)).toBe(10);
    scene.load(0, 20_010);
    expect(slotBy(PolicyKind.SmetricV2, scene)).toBe(11);
    expect(scene.decision.reason).toBe(Reason.Migrate);
  });

  it("stays home when moving would take even longer", () => {
    // elsewhere 48,000 tokens: 1e-4 (48,000 + 8e-6 * 48,000 * 24,000) = 5.7 s
    const scene = new Scene(2, 48_000).home(0, 48_000).load(0, 50_000);
    scene.learned.uncachedSeconds = 1.48e-4;
    scene.options.tier = Tier.None;
    expect(slotBy(PolicyKind.SmetricV2, scene)).toBe(10);
    expect(scene.decision.reason).toBe(Reason.Home);
    scene.load(0, 58_000);
    expect(slotBy(PolicyKind.SmetricV2, scene)).toBe(11);
  });
});

describe("lmetric", () => {
  it("multiplies pending prefill by the batch", () => {
    // (4,000 + 8,000) * 2 = 24,000 | (0 + 8,000) * 4 = 32,000 | (15,000 + 8,000) * 1 = 23,000
    const scene = new Scene(3, 8_000).load(0, 4_000, 0, 1).load(1, 0, 0, 3).load(2, 15_000, 0, 0);
    expect(slotBy(PolicyKind.Lmetric, scene)).toBe(12);
    scene.load(2, 17_000);
    expect(slotBy(PolicyKind.Lmetric, scene)).toBe(10);
  });

  it("follows the cache as long as the batch there is not too large", () => {
    // home: 1,000 * (b + 1), elsewhere 51,000
    const scene = new Scene(2, 51_000).home(0, 50_000).load(0, 0, 0, 49);
    expect(slotBy(PolicyKind.Lmetric, scene)).toBe(10);
    expect(scene.decision.reason).toBe(Reason.Home);
    scene.load(0, 0, 0, 51);
    expect(slotBy(PolicyKind.Lmetric, scene)).toBe(11);
    expect(scene.decision.reason).toBe(Reason.Spill);
  });
});

describe("agentix", () => {
  it("balances short prompts by requests in flight, follow-ups too", () => {
    const scene = new Scene(2, 2_048).home(0, 2_000).load(0, 0, 0, 1);
    expect(slotBy(PolicyKind.Agentix, scene)).toBe(11);
    expect(scene.decision.reason).toBe(Reason.Spill);
  });

  it("keeps long prompts with their program, whatever the load", () => {
    const scene = new Scene(2, 2_049).home(0, 2_000).load(0, 90_000, 90_000, 40);
    expect(slotBy(PolicyKind.Agentix, scene)).toBe(10);
    expect(scene.decision.reason).toBe(Reason.Home);
  });

  it("reads `auto` as: three quarters of the prompt are the head", () => {
    const scene = new Scene(2, 16_000).home(0, 15_000).load(0, 0, 0, 1);
    scene.options.shortPromptTokens = 0;
    scene.request.headTokens = 12_000;
    expect(slotBy(PolicyKind.Agentix, scene)).toBe(11);
    scene.request.headTokens = 11_999;
    expect(slotBy(PolicyKind.Agentix, scene)).toBe(10);
  });
});

describe("a home known by the session alone", () => {
  it("is a home to stickiness and a cheap one to leave for a price", () => {
    const scene = new Scene(2, 30_000).home(0, 0);
    scene.homes.bySession = true;
    scene.homes.verifiedTurn = 1;
    expect(slotBy(PolicyKind.Sticky, scene)).toBe(10);
    expect(slotBy(PolicyKind.Agentix, scene)).toBe(10);
    expect(slotBy(PolicyKind.Priced, scene)).toBe(10);
    scene.load(0, 21_000);
    expect(slotBy(PolicyKind.Priced, scene)).toBe(11);
    expect(scene.decision.reason).toBe(Reason.Migrate);
  });
});

describe("session-hash", () => {
  it("sends all turns of a session to one endpoint and spreads sessions", () => {
    const scene = new Scene(4, 8_000);
    const policy = policyOf(PolicyKind.SessionHash, scene.options, scene.learned);
    const counts = new StaticArray<i32>(4);
    for (let session = 1; session <= 1_000; session++) {
      scene.request.session = <u64>session;
      const slot = scene.pick(policy, <u64>session);
      expect(scene.pick(policy, 77)).toBe(slot);
      counts[slot - 10] += 1;
    }
    for (let i = 0; i < 4; i++) expect(counts[i]).toBeGreaterThan(200);
  });

  it("leaves a session where it is when only a sample of the fleet is seen", () => {
    for (let session = 1; session <= 50; session++) {
      const scene = new Scene(4, 8_000).home(2, 7_000);
      scene.request.session = <u64>session;
      scene.loads.sampled = true;
      expect(slotBy(PolicyKind.SessionHash, scene)).toBe(12);
    }
  });

  it("moves only the sessions of an endpoint that left", () => {
    const scene = new Scene(4, 8_000);
    const policy = policyOf(PolicyKind.SessionHash, scene.options, scene.learned);
    for (let session = 1; session <= 200; session++) {
      scene.request.session = <u64>session;
      scene.loads.count = 4;
      const before = scene.pick(policy);
      scene.loads.count = 3;
      const after = scene.pick(policy);
      if (before != 13) expect(after).toBe(before);
    }
  });

  it("knows a session by its first chain where the client names none", () => {
    const scene = new Scene(4, 8_000);
    scene.request.boundaryCount = 1;
    scene.request.boundaries[0].chain = 0xabcdef;
    const slot = slotBy(PolicyKind.SessionHash, scene);
    scene.request.boundaryCount = 2;
    scene.request.boundaries[1].chain = 0x123456;
    expect(slotBy(PolicyKind.SessionHash, scene)).toBe(slot);
  });
});

describe("every policy", () => {
  it("allocates nothing in a pick", () => {
    for (let kind = PolicyKind.Priced; kind <= PolicyKind.LeastRequest; kind++) {
      const scene = new Scene(64, 51_000).home(5, 50_000).home(9, 30_000);
      const policy = policyOf(kind, scene.options, scene.learned);
      const before = nextFreeBlocks();
      for (let i = 0; i < 100; i++) {
        scene.homes.count = i % 3;
        scene.pick(policy, <u64>i);
      }
      expect(nextFreeBlocks()).toBe(before);
    }
  });

  it("names no endpoint in an empty fleet", () => {
    for (let kind = PolicyKind.Priced; kind <= PolicyKind.LeastRequest; kind++) {
      const scene = new Scene(0, 8_000);
      expect(slotBy(kind, scene)).toBe(NO_ENDPOINT);
    }
  });

  it("leaves first turns to Envoy while endpoints are unknown, and where Envoy is to place them", () => {
    for (let kind = PolicyKind.Priced; kind <= PolicyKind.LeastRequest; kind++) {
      const scene = new Scene(4, 8_000);
      scene.loads.complete = false;
      expect(slotBy(kind, scene)).toBe(NO_ENDPOINT);
      expect(scene.decision.reason).toBe(Reason.FirstTurn);
      if (kind == PolicyKind.SessionHash) continue;
      scene.loads.complete = true;
      scene.options.firstTurn = FirstTurn.LeastRequest;
      expect(slotBy(kind, scene)).toBe(NO_ENDPOINT);
    }
  });
});
