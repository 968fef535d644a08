// SPDX-License-Identifier: Apache-2.0
// Brings a request's estimated tokens to the scale of the model's own tokenizer.
import { Request } from "./request";

/** A smaller correction is not worth the walk. */
const LEAST_CORRECTION: f64 = 0.01;

/** Multiplies all estimates of a request, once, before anything is compared with them. */
export function scaleTokens(request: Request, scale: f64): void {
  request.tokenScale = 1;
  if (Math.abs(scale - 1) < LEAST_CORRECTION) return;
  request.tokenScale = scale;
  request.promptTokens = scaled(request.promptTokens, scale);
  request.headTokens = scaled(request.headTokens, scale);
  for (let i = 0; i < request.headPieceCount; i++) {
    request.headPieceTokens[i] = scaled(request.headPieceTokens[i], scale);
  }
  for (let i = 0; i < request.boundaryCount; i++) {
    const boundary = request.boundaries[i];
    boundary.prefixTokens = scaled(boundary.prefixTokens, scale);
    boundary.afterRunTokens = scaled(boundary.afterRunTokens, scale);
  }
}

/** Tokens of the whole prompt as the reader estimated them. */
export function unscaledTokens(request: Request): f64 {
  return <f64>request.promptTokens / request.tokenScale;
}

function scaled(tokens: u32, scale: f64): u32 {
  return <u32>min(<f64>u32.MAX_VALUE, <f64>tokens * scale + 0.5);
}
