// SPDX-License-Identifier: Apache-2.0
// Numbers as the answers write them.

/** `41 %`. */
export function percent(share: number): string {
  return Number.isNaN(share) ? "-" : `${Math.round(share * 100)} %`;
}

/** Percentage points: `2.5`. */
export function points(share: number): string {
  return (share * 100).toFixed(1);
}

/** `12,031`. */
export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** `1.2 M` of tokens. */
export function tokens(value: number): string {
  if (value >= 999_500) return `${(value / 1e6).toFixed(1)} M`;
  return value >= 10_000 ? `${Math.round(value / 1000)} k` : count(value);
}

/** `0.35 s`. */
export function seconds(ms: number): string {
  if (Number.isNaN(ms)) return "-";
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

/** `x1.5`. */
export function times(load: number): string {
  return `x${load}`;
}
