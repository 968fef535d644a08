// SPDX-License-Identifier: Apache-2.0
// Policies in a pool of prefill endpoints: nothing is left to Envoy there.
import { FirstTurn, PolicyKind } from "../../../../assembly/config/options";
import { Reason } from "../../../../assembly/metrics/reason";
import { NO_ENDPOINT } from "../../../../assembly/scheduling/decision";
import { policyOf } from "../../../../assembly/scheduling/routing/policies";
import { Scene } from "./scene";

function pick(scene: Scene, kind: PolicyKind): i32 {
  return scene.pick(policyOf(kind, scene.options, scene.learned));
}

describe("a policy in a prefill pool", () => {
  it("names the endpoint with the fewest requests where it would leave the choice to Envoy", () => {
    const scene = new Scene(3, 20_000).load(0, 0, 0, 2).load(1, 0, 0, 1).load(2, 0, 0, 3);
    expect(pick(scene, PolicyKind.Sticky)).toBe(NO_ENDPOINT);
    scene.options.prefillPool = true;
    expect(pick(scene, PolicyKind.Sticky)).toBe(11);
    expect(scene.decision.reason).toBe(Reason.FirstTurn);
    expect(scene.decision.uncachedTokens).toBe(20_000);
    expect(pick(scene, PolicyKind.LeastRequest)).toBe(11);
    scene.options.firstTurn = FirstTurn.LeastRequest;
    expect(pick(scene, PolicyKind.Priced)).toBe(11);
  });

  it("counts on a head that the endpoint has served", () => {
    const scene = new Scene(2, 20_000).load(0, 0, 0, 1);
    scene.options.prefillPool = true;
    scene.request.headTokens = 15_000;
    scene.loads.headServed[1] = true;
    expect(pick(scene, PolicyKind.Sticky)).toBe(11);
    expect(scene.decision.uncachedTokens).toBe(5_000);
  });

  it("keeps what the policy itself decides", () => {
    const scene = new Scene(2, 51_000).home(0, 50_000).load(0, 0, 0, 5);
    scene.options.prefillPool = true;
    expect(pick(scene, PolicyKind.Sticky)).toBe(10);
    expect(scene.decision.reason).toBe(Reason.Home);
  });

  it("names nobody where there is nobody", () => {
    const scene = new Scene(0, 20_000);
    scene.options.prefillPool = true;
    expect(pick(scene, PolicyKind.Sticky)).toBe(NO_ENDPOINT);
  });
});
