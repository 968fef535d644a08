// SPDX-License-Identifier: Apache-2.0
// One HTTP request and its response: body in, hashed bytes out, recorded either way.
import { createHash, type Hash } from "node:crypto";
import { type IncomingMessage, type ServerResponse } from "node:http";
import { type RequestRecord, type Recorder } from "./recorder.ts";

/** A fault of the client that ends in an error response. */
export class HttpError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly type = status === 404 ? "NotFoundError" : "BadRequestError",
    readonly param: string | null = null,
  ) {
    super(message);
    this.name = "HttpError";
  }
}

/** Reads a body of any size and framing. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

export class Exchange {
  readonly record: RequestRecord;
  readonly url: URL;
  /** Headers that every response of this exchange carries. */
  readonly responseHeaders: Record<string, string> = {};
  /** Shape of error bodies. */
  errorStyle: "openai" | "anthropic" = "openai";
  /** Headers that depend on the moment when the response starts. */
  lateHeaders: () => Record<string, string> = () => ({});
  private readonly hash: Hash = createHash("sha256");
  private readonly leaveListeners: (() => void)[] = [];

  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    readonly body: Buffer,
    endpoint: string,
    recorder: Recorder,
  ) {
    this.url = new URL(request.url ?? "/", "http://endpoint");
    this.record = recorder.add({
      time_ms: Date.now(),
      endpoint,
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      raw_headers: request.rawHeaders,
      trailers: request.trailers,
      body_bytes: body.length,
      body_sha256: createHash("sha256").update(body).digest("hex"),
      status: 0,
      response_bytes: 0,
      response_sha256: "",
      outcome: "open",
      prompt_tokens: 0,
      cached_tokens: 0,
      output_tokens: 0,
      priority: 0,
      ttft_ms: null,
      e2e_ms: null,
    });
    response.on("close", () => this.closed());
  }

  get ended(): boolean {
    return this.record.outcome !== "open";
  }

  /** The only value of a header, or undefined. */
  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return Array.isArray(value) ? value[0] : value;
  }

  /** Runs when the exchange ends before the response is complete. */
  onLeave(listener: () => void): void {
    this.leaveListeners.push(listener);
  }

  /** The body as a JSON object. */
  json(): Record<string, unknown> {
    let value: unknown;
    try {
      value = JSON.parse(this.body.toString("utf8"));
    } catch (error) {
      throw new HttpError(400, `Invalid JSON: ${(error as Error).message}`);
    }
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new HttpError(400, "The body must be a JSON object.");
    }
    return value as Record<string, unknown>;
  }

  sendJson(status: number, value: unknown): void {
    this.send(status, "application/json", JSON.stringify(value));
  }

  send(status: number, contentType: string, text: string): void {
    const bytes = Buffer.from(text);
    this.start(status, { "content-type": contentType, "content-length": String(bytes.length) });
    this.write(bytes);
    this.end();
  }

  start(status: number, headers: Record<string, string>): void {
    if (this.ended || this.response.headersSent) return;
    this.record.status = status;
    this.response.writeHead(status, { ...headers, ...this.responseHeaders, ...this.lateHeaders() });
  }

  write(data: string | Buffer): void {
    if (this.ended) return;
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    this.hash.update(bytes);
    this.record.response_bytes += bytes.length;
    this.response.write(bytes);
  }

  end(): void {
    if (this.ended) return;
    this.seal("complete");
    this.response.end();
  }

  /** Cuts the connection in the middle of whatever was being sent. */
  reset(): void {
    if (this.ended) return;
    this.leave("reset");
    this.request.socket.resetAndDestroy();
  }

  private closed(): void {
    if (!this.ended) this.leave("client_abort");
  }

  private leave(outcome: "client_abort" | "reset"): void {
    this.seal(outcome);
    for (const listener of this.leaveListeners) listener();
  }

  private seal(outcome: "complete" | "client_abort" | "reset"): void {
    this.record.outcome = outcome;
    this.record.response_sha256 = this.hash.digest("hex");
  }
}
