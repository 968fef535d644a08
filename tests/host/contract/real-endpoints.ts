// SPDX-License-Identifier: Apache-2.0
// The endpoints of a contract world on real sockets: they record what they get and answer as told by path.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ENDPOINTS, type Answer } from "./world.ts";

/** What one endpoint received for one path. */
export interface Received {
  endpoint: number;
  headers: Record<string, string>;
  trailers: Record<string, string>;
  sha: string;
}

export class RealEndpoints {
  readonly addresses: string[] = [];
  readonly answers = new Map<string, Answer>();
  /** By path; a retry overwrites. */
  readonly received = new Map<string, Received>();
  private readonly servers: Server[] = [];
  private readonly open = new Map<string, ServerResponse>();
  private readonly failing = new Set<number>();

  /** Listens on free ports; those in `dead` are closed again. */
  async start(dead: readonly number[]): Promise<void> {
    for (let index = 0; index < ENDPOINTS; index++) {
      const server = createServer((request, response) => void this.serve(index, request, response));
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      this.addresses.push(`127.0.0.1:${(server.address() as AddressInfo).port}`);
      this.servers.push(server);
    }
    for (const index of dead) await this.stopServer(this.servers[index]!);
  }

  fail(index: number): void {
    this.failing.add(index);
  }

  /** Ends a response that is kept open. */
  finish(path: string): void {
    const response = this.open.get(path);
    this.open.delete(path);
    response?.end();
  }

  async close(): Promise<void> {
    for (const server of this.servers) await this.stopServer(server);
  }

  private async stopServer(server: Server): Promise<void> {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  }

  private async serve(
    endpoint: number,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const path = request.url!;
    if (path === "/health") {
      response.writeHead(this.failing.has(endpoint) ? 503 : 200).end();
      return;
    }
    request.on("error", () => {});
    response.on("error", () => {});
    const headers = flat(request.headers);
    this.received.set(path, { endpoint, headers, trailers: {}, sha: "" });
    const hash = createHash("sha256");
    try {
      for await (const chunk of request) hash.update(chunk as Buffer);
    } catch {
      return; // The client or Envoy went away.
    }
    const trailers = flat(request.trailers);
    this.received.set(path, { endpoint, headers, trailers, sha: hash.digest("hex") });
    this.answer(path, response);
  }

  private answer(path: string, response: ServerResponse): void {
    const { status = 200, headers = {}, chunks = ["ok"], ...rest } = this.answers.get(path) ?? {};
    if (rest.instead === "silence") return;
    if (rest.instead === "break") {
      response.socket?.destroy();
      return;
    }
    if (rest.trailers) response.setHeader("trailer", Object.keys(rest.trailers));
    response.writeHead(status, headers);
    response.flushHeaders();
    for (const chunk of chunks) response.write(chunk);
    if (rest.trailers) response.addTrailers(rest.trailers);
    if (rest.then === "hold") this.open.set(path, response);
    else if (rest.then === "break") setTimeout(() => response.socket?.destroy(), BREAK_AFTER_MS);
    else response.end();
  }
}

/** Long enough that what was written has reached the client. */
const BREAK_AFTER_MS = 100;

function flat(headers: NodeJS.Dict<string | string[]>): Record<string, string> {
  const pairs = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
  return Object.fromEntries(pairs);
}
