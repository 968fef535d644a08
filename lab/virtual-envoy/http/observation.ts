// SPDX-License-Identifier: Apache-2.0
// What the client and a test can see of a stream.
import { createHash } from "node:crypto";
import type { CallbackRecord } from "../filters/filter.ts";
import type { HeaderMap } from "./header-map.ts";

/** How a stream ended; "open" until it has. */
export type Ending = "open" | "completed" | "local_reply" | "reset" | "aborted";

/** The response as the client receives it. */
export class DownstreamResponse {
  headers: HeaderMap | undefined;
  trailers: HeaderMap | undefined;
  chunks: Uint8Array[] = [];
  bodyBytes = 0;
  /** Made by Envoy or the filter, not by an endpoint. */
  local = false;

  begin(headers: HeaderMap): void {
    this.headers = headers.clone();
  }

  receive(slices: Uint8Array[], keep: boolean): void {
    for (const slice of slices) {
      this.bodyBytes += slice.length;
      if (keep) this.chunks.push(slice);
    }
  }

  get status(): number | undefined {
    const status = this.headers?.get(":status");
    return status === undefined ? undefined : Number(status);
  }

  body(): Buffer {
    return Buffer.concat(this.chunks);
  }

  bodySha(): string {
    return createHash("sha256").update(this.body()).digest("hex");
  }
}

/** Everything a contract test compares; plain data. */
export interface Observation {
  ending: Ending;
  status: number | undefined;
  responseHeaders: Record<string, string>;
  responseBody: string;
  /** Endpoint of the last attempt. */
  endpoint: string | undefined;
  attempts: number;
  details: string;
  flags: number;
  /** First value per header that the endpoint received; undefined when none was reached. */
  upstreamHeaders: Record<string, string> | undefined;
  upstreamTrailers: Record<string, string> | undefined;
  upstreamBodyBytes: number;
  bodySha: string | undefined;
  callbacks: CallbackRecord[];
  /** Filter state by full key, as Latin-1 text. */
  filterState: Record<string, string>;
}
