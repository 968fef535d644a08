// SPDX-License-Identifier: Apache-2.0
// What interleaved rounds say of a cost, and the line through several.
import { quantile } from "simple-statistics";

/**
 * What the rounds say of a cost. Whatever else runs on the machine only ever adds to it (a cold cache, a busy
 * sibling core), often a multiple: so the lower quartile is the measure, and the median tells how bad it was.
 */
export interface Spread {
  lowest: number;
  quartile: number;
  median: number;
}

export function spreadOf(values: number[]): Spread {
  return {
    lowest: quantile(values, 0),
    quartile: quantile(values, 0.25),
    median: quantile(values, 0.5),
  };
}

export interface Point {
  x: number;
  y: number;
  /** How far y may be off. */
  error: number;
}

/** Least squares, each point by the weight of its error: large bodies are measured in hundreds of microseconds. */
export function fitLine(points: Point[]): { offset: number; slope: number } {
  let [w, wx, wy, wxx, wxy] = [0, 0, 0, 0, 0];
  for (const { x, y, error } of points) {
    const weight = 1 / error ** 2;
    w += weight;
    wx += weight * x;
    wy += weight * y;
    wxx += weight * x * x;
    wxy += weight * x * y;
  }
  const slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  return { offset: (wy - slope * wx) / w, slope };
}
