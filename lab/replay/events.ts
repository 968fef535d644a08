// SPDX-License-Identifier: Apache-2.0
// What happens to a fleet while a replay runs: caches that change their size, endpoints that fail, more or fewer users.
import { Failure } from "../../cli/failure.ts";

/** `endpoints` empty = all. */
export type FleetEvent = { atMs: number } & (
  | { kind: "kv"; kvTokens: number; endpoints: number[] }
  | { kind: "down" | "up" | "restart"; endpoints: number[] }
  | { kind: "sessions"; sessions: number }
);

type Kind = FleetEvent["kind"];
/** Value, first and last endpoint as far as they are given. */
type Given = [value: string | undefined, from: string | undefined, to: string | undefined];

const EXAMPLES =
  "10:kv=500000, 10:kv=500000@0-1, 10:down@3, 20:up@3, 10:restart@3, 10:sessions=240";
const PATTERN = /^(\d+(?:\.\d+)?):(kv|down|up|restart|sessions)(?:=(\d+))?(?:@(\d+)(?:-(\d+))?)?$/;

function rangeOf(from: string | undefined, to: string | undefined, count: number): number[] | null {
  if (from === undefined) return [];
  const first = Number(from);
  const last = Number(to ?? from);
  if (last < first || last >= count) return null;
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

function eventOf(text: string, count: number): FleetEvent | null {
  const match = PATTERN.exec(text.trim());
  if (match === null) return null;
  const [, minutes, kind, value, from, to] = match as unknown as [string, string, Kind, ...Given];
  const endpoints = rangeOf(from, to, count);
  const atMs = Number(minutes) * 60_000;
  if (endpoints === null) return null;
  if (kind === "kv") {
    return value === undefined ? null : { atMs, kind, kvTokens: Number(value), endpoints };
  }
  if (kind === "sessions") {
    const isWhole = value !== undefined && from === undefined;
    return isWhole ? { atMs, kind, sessions: Number(value) } : null;
  }
  return value === undefined && from !== undefined ? { atMs, kind, endpoints } : null;
}

/**
 * The events of `--events`, separated by commas: minute, colon, what.
 * @param endpoints size of the fleet
 * @throws Failure for what is none, or names endpoints that there are not
 */
export function parseEvents(text: string, endpoints: number): FleetEvent[] {
  return text.split(",").map((part) => {
    const event = eventOf(part, endpoints);
    if (event !== null) return event;
    throw new Failure(`--events ${part.trim()}: write it as one of ${EXAMPLES}`);
  });
}
