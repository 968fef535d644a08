// SPDX-License-Identifier: Apache-2.0
// Estimated tokens brought to the scale that a model's answers report.
import { Learned } from "../../../assembly/memory/learned";
import { Request } from "../../../assembly/request/request";
import { scaleTokens, unscaledTokens } from "../../../assembly/request/token-scale";

describe("the scale of tokens", () => {
  it("takes the first report at its word and then follows slowly", () => {
    const learned = new Learned();
    learned.noteEstimate(1_000, 1_500);
    expect(learned.tokenScale).toBe(1.5);
    learned.noteEstimate(1_000, 2_000);
    expect(learned.tokenScale).toBe(1.525);
    for (let i = 0; i < 200; i++) learned.noteEstimate(1_000, 2_000);
    expect(Math.abs(learned.tokenScale - 2)).toBeLessThan(0.02);
  });

  it("is not moved by short prompts and by what is no token count", () => {
    const learned = new Learned();
    learned.noteEstimate(100, 200);
    learned.noteEstimate(0, 2_000);
    learned.noteEstimate(10, 2_000);
    learned.noteEstimate(1_000_000, 300);
    expect(learned.tokenScale).toBe(1);
  });

  it("reaches every estimate of a request", () => {
    const request = new Request();
    request.promptTokens = 1_000;
    request.headTokens = 400;
    request.headPieceCount = 1;
    request.headPieceTokens[0] = 100;
    request.boundaryCount = 2;
    request.boundaries[1].prefixTokens = 600;
    request.boundaries[1].afterRunTokens = 700;
    scaleTokens(request, 1.5);
    expect(request.promptTokens).toBe(1_500);
    expect(unscaledTokens(request)).toBe(1_000);
    expect(request.headTokens).toBe(600);
    expect(request.headPieceTokens[0]).toBe(150);
    expect(request.boundaries[1].prefixTokens).toBe(900);
    expect(request.boundaries[1].afterRunTokens).toBe(1_050);
    scaleTokens(request, 1e12);
    expect(request.promptTokens).toBe(u32.MAX_VALUE);
  });
});
