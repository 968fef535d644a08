// SPDX-License-Identifier: Apache-2.0
// The client of a contract world on real sockets: sends piece by piece and reports how the response went.
import { request as httpRequest, type ClientRequest } from "node:http";
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import type { Ask } from "./world.ts";

/** Between pieces, so that each is a read of its own. */
const BETWEEN_PIECES_MS = 20;

export class RealExchange {
  status: number | undefined;
  headers: Record<string, string> = {};
  body = "";
  /** The response broke off. */
  cut = false;
  over = false;
  private readonly changes: (() => void)[] = [];
  private http1: ClientRequest | undefined;
  private http2: ClientHttp2Stream | undefined;
  private session: ClientHttp2Session | undefined;

  constructor(
    private readonly url: string,
    private readonly path: string,
    private readonly ask: Ask,
    private readonly headersToSend: Record<string, string>,
  ) {}

  async send(): Promise<void> {
    const { ask } = this;
    const pieces = ask.chunks ?? (ask.body === undefined ? [] : [ask.body]);
    const method = ask.method ?? (pieces.length > 0 || ask.unfinished ? "POST" : "GET");
    if (ask.protocol === "http2") this.openHttp2(method, pieces);
    else this.openHttp1(method, pieces);
    for (const piece of pieces) {
      if (piece !== "") this.write(piece);
      if (ask.chunks !== undefined) await sleep(BETWEEN_PIECES_MS);
    }
    if (ask.trailers) this.http1?.addTrailers(ask.trailers);
    if (!ask.unfinished) this.end();
  }

  write(piece: string): void {
    (this.http1 ?? this.http2)!.write(piece);
  }

  end(): void {
    (this.http1 ?? this.http2)!.end();
  }

  leave(): void {
    this.http1?.destroy();
    this.session?.destroy();
  }

  /** Waits until `done`, at most `patienceMs`; answers whether it came true. */
  async until(done: () => boolean, patienceMs: number): Promise<boolean> {
    const deadline = performance.now() + patienceMs;
    while (!done()) {
      const left = deadline - performance.now();
      if (left <= 0) return false;
      await Promise.race([sleep(left), new Promise<void>((wake) => this.changes.push(wake))]);
    }
    return true;
  }

  private openHttp1(method: string, pieces: string[]): void {
    const headers: Record<string, string | number> = { ...this.headersToSend };
    if (this.ask.body !== undefined) headers["content-length"] = Buffer.byteLength(this.ask.body);
    else if (pieces.length > 0 || this.ask.unfinished) headers["transfer-encoding"] = "chunked";
    if (this.ask.trailers) headers["trailer"] = Object.keys(this.ask.trailers).join(", ");
    const request = httpRequest(this.url + this.path, { method, headers, agent: false });
    this.http1 = request;
    request.on("error", () => this.finish(true));
    request.on("response", (response) => {
      this.begin(response.statusCode ?? 0, response.headers);
      response.on("data", (chunk: Buffer) => (this.body += chunk.toString()));
      response.on("error", () => this.finish(true));
      response.on("close", () => this.finish(!response.complete));
    });
    request.flushHeaders();
  }

  private openHttp2(method: string, pieces: string[]): void {
    const session = connect(this.url);
    this.session = session;
    session.on("error", () => this.finish(true));
    const endStream = pieces.length === 0 && !this.ask.unfinished;
    const head = { ":method": method, ":path": this.path, ...this.headersToSend };
    const stream = session.request(head, { endStream });
    this.http2 = stream;
    stream.on("error", () => this.finish(true));
    stream.on("response", (headers) => this.begin(Number(headers[":status"]), headers));
    stream.on("data", (chunk: Buffer) => (this.body += chunk.toString()));
    stream.on("close", () => {
      this.finish(stream.rstCode !== 0);
      session.close();
    });
  }

  private begin(status: number, headers: NodeJS.Dict<string | string[]>): void {
    this.status = status;
    for (const [name, value] of Object.entries(headers)) this.headers[name] = String(value);
    this.changed();
  }

  private finish(cut: boolean): void {
    if (this.over) return;
    this.over = true;
    this.cut = cut;
    this.changed();
  }

  private changed(): void {
    for (const wake of this.changes.splice(0)) wake();
  }
}
