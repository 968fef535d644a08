// SPDX-License-Identifier: Apache-2.0
// The policy `sticky`: who has a home goes there, everybody else is left to Envoy.
import { Homes } from "../../../../assembly/memory/homes";
import { Loads } from "../../../../assembly/memory/loads";
import { Reason } from "../../../../assembly/metrics/reason";
import { Request } from "../../../../assembly/request/request";
import { Decision, NO_ENDPOINT } from "../../../../assembly/scheduling/decision";
import { Sticky } from "../../../../assembly/scheduling/routing/sticky";

const request = new Request();
const homes = new Homes();
const loads = new Loads();
const decision = new Decision();

function pick(): void {
  new Sticky().pick(request, homes, loads, 1_000, 7, decision);
}

describe("sticky", () => {
  beforeEach(() => {
    request.turn = 1;
    request.promptTokens = 10_000;
    homes.count = 0;
    homes.verifiedTurn = 1;
    homes.headDiffers = false;
  });

  it("leaves a first turn to Envoy", () => {
    pick();
    expect(decision.slot).toBe(NO_ENDPOINT);
    expect(decision.reason).toBe(Reason.FirstTurn);
    expect(decision.uncachedTokens).toBe(10_000);
  });

  it("leaves history that was never served here to Envoy", () => {
    request.turn = 5;
    pick();
    expect(decision.slot).toBe(NO_ENDPOINT);
    expect(decision.reason).toBe(Reason.Cold);
  });

  it("leaves a repeated first turn to Envoy although its chain is known", () => {
    homes.count = 1;
    homes.slots[0] = 3;
    pick();
    expect(decision.slot).toBe(NO_ENDPOINT);
    expect(decision.reason).toBe(Reason.FirstTurn);
  });

  it("sends a verified follow-up to its best home", () => {
    request.turn = 3;
    homes.count = 2;
    homes.verifiedTurn = 3;
    homes.slots[0] = 3;
    homes.slots[1] = 1;
    homes.prefixTokens[0] = 9_400;
    pick();
    expect(decision.slot).toBe(3);
    expect(decision.reason).toBe(Reason.Home);
    expect(decision.uncachedTokens).toBe(600);
  });

  it("stays at home under another head, and expects there what the two heads share", () => {
    request.turn = 3;
    homes.count = 1;
    homes.verifiedTurn = 3;
    homes.slots[0] = 2;
    homes.prefixTokens[0] = 2_500;
    homes.headDiffers = true;
    pick();
    expect(decision.slot).toBe(2);
    expect(decision.uncachedTokens).toBe(7_500);
  });

  it("never counts more cached tokens than the prompt has", () => {
    request.turn = 2;
    homes.count = 1;
    homes.verifiedTurn = 2;
    homes.slots[0] = 0;
    homes.prefixTokens[0] = 12_000;
    pick();
    expect(decision.uncachedTokens).toBe(0);
  });
});
