// SPDX-License-Identifier: Apache-2.0
// What arrived and what was sent, one bounded record per request, for tests and for the curious.
import { type IncomingHttpHeaders } from "node:http";

/** How an exchange ended. */
export type ExchangeOutcome = "open" | "complete" | "client_abort" | "reset";

export interface RequestRecord {
  serial: number;
  /** Unix milliseconds. */
  time_ms: number;
  endpoint: string;
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** Names in the order and case of the wire, each followed by its value. */
  raw_headers: string[];
  trailers: NodeJS.Dict<string>;
  body_bytes: number;
  body_sha256: string;
  status: number;
  response_bytes: number;
  /** Of the body bytes as sent, before chunked framing. */
  response_sha256: string;
  outcome: ExchangeOutcome;
  prompt_tokens: number;
  /** Prompt tokens that needed no computation: prefix cache, tiers, transfers. */
  cached_tokens: number;
  output_tokens: number;
  priority: number;
  /** Engine milliseconds; null while unknown. */
  ttft_ms: number | null;
  e2e_ms: number | null;
}

const OPERATIONAL = /^\/(health|metrics|ping|load|debug)\b/;

const DEFAULT_LIMIT = 20_000;

/** A ring: the oldest record goes when the limit is reached. */
export class Recorder {
  private records: RequestRecord[] = [];
  private serial = 0;

  constructor(private readonly limit = DEFAULT_LIMIT) {}

  /** Records in order of arrival. */
  get requests(): readonly RequestRecord[] {
    return this.records;
  }

  /** Every request ever recorded, those that fell out included. */
  get total(): number {
    return this.serial;
  }

  clear(): void {
    this.records = [];
  }

  add(record: Omit<RequestRecord, "serial">): RequestRecord {
    // Health checks and scrapes come every second and would push out what matters.
    if (OPERATIONAL.test(record.path)) return { serial: -1, ...record };
    const entry = { serial: this.serial++, ...record };
    this.records.push(entry);
    if (this.records.length > this.limit * 1.1) this.records = this.records.slice(-this.limit);
    return entry;
  }
}
