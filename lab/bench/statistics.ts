// SPDX-License-Identifier: Apache-2.0
// Medians over interleaved rounds, and the line through them.
import { quantile } from "simple-statistics";

export interface Spread {
  median: number;
  /** A quarter of the rounds was below, a quarter above. */
  low: number;
  high: number;
}

export function spreadOf(values: number[]): Spread {
  return {
    median: quantile(values, 0.5),
    low: quantile(values, 0.25),
    high: quantile(values, 0.75),
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
