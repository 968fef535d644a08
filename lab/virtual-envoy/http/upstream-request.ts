// SPDX-License-Identifier: Apache-2.0
// One attempt at an endpoint: what that server receives.
import { createHash } from "node:crypto";
import type { Endpoint } from "../cluster/endpoint.ts";
import type { HeaderMap } from "./header-map.ts";

export class UpstreamRequest {
  readonly chunks: Uint8Array[] = [];
  bodyBytes = 0;
  /** The request is complete. */
  ended = false;
  trailers: HeaderMap | undefined;
  /** Cancelled by Envoy: client gone, timeout, retry elsewhere. */
  cancelled = false;

  constructor(
    readonly endpoint: Endpoint,
    readonly headers: HeaderMap,
    private readonly keepBody: boolean,
  ) {}

  receive(bytes: Uint8Array): void {
    this.bodyBytes += bytes.length;
    if (this.keepBody) this.chunks.push(bytes);
  }

  body(): Buffer {
    return Buffer.concat(this.chunks);
  }

  bodySha(): string {
    const hash = createHash("sha256");
    for (const chunk of this.chunks) hash.update(chunk);
    return hash.digest("hex");
  }
}
