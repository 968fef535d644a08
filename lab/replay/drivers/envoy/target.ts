// SPDX-License-Identifier: Apache-2.0
// What a replay over HTTP talks to: a gateway, and what can be learned of the endpoints behind it.

/** Header that names a call on its way, so that an endpoint's record of it can be found. */
export const CALL_HEADER = "x-replay-call";

/** What an endpoint saw of a call; null where nobody can tell. */
export interface Sighting {
  seenTurn: number | null;
  verifiedTurn: number | null;
  decision: string | null;
}

export const UNSEEN: Sighting = { seenTurn: null, verifiedTurn: null, decision: null };

export interface Target {
  /** The gateway, without a trailing slash. */
  readonly url: string;
  /** Index of the endpoint that calls itself so, -1 for none. */
  endpointIndex(name: string | null): number;
  readonly endpoints: number;
  /** Requests in flight per endpoint. */
  inFlight(): number[];
  /** What reached an endpoint with a call; asked once, after its end. */
  take(call: string): Sighting;
}

/** A gateway that somebody else runs: endpoints are those that have answered. */
export class AttachedGateway implements Target {
  private readonly names: string[] = [];

  constructor(readonly url: string) {}

  get endpoints(): number {
    return this.names.length;
  }

  endpointIndex(name: string | null): number {
    if (name === null) return -1;
    const index = this.names.indexOf(name);
    return index >= 0 ? index : this.names.push(name) - 1;
  }

  inFlight(): number[] {
    return this.names.map(() => 0);
  }

  take(): Sighting {
    return UNSEEN;
  }
}
