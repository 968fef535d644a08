// SPDX-License-Identifier: Apache-2.0
// An inference endpoint that records what reaches it byte for byte, and answers, stalls, fails or dies on demand.
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** One request as the endpoint received it. */
export interface Exchange {
  /** Address of the endpoint that got it. */
  endpoint: string;
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  trailers: NodeJS.Dict<string>;
  bodyBytes: number;
  bodySha256: string;
  /** The body itself, for requests of moderate size. */
  body: Buffer;
  /** The connection it came on, to be cut by tests. */
  socket: Socket;
}

export type Answer = (exchange: Exchange, response: ServerResponse) => void | Promise<void>;

/** What a non-streaming chat completion looks like; the text differs from answer to answer. */
export function completion(exchange: Exchange, serial: number): object {
  const content = `answer ${serial} of ${exchange.endpoint}`;
  return {
    id: `chatcmpl-${serial}`,
    object: "chat.completion",
    created: 1_700_000_000,
    model: "test-model",
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  };
}

/** An answer that tells how much of its prompt was cached, as vLLM does with `--enable-prompt-tokens-details`. */
export function tellCached(exchange: Exchange, response: ServerResponse): void {
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 5,
    total_tokens: 105,
    prompt_tokens_details: { cached_tokens: 60 },
  };
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ ...completion(exchange, 1), usage }));
}

export function sha256(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** More than Envoy lets through. */
const MAX_HEADER_BYTES = 131_072;

/** Recording starts with the first request; `/health` is answered and not recorded. */
export class Endpoint {
  readonly exchanges: Exchange[] = [];
  healthy = true;
  /** Requests whose head has arrived, complete or not. */
  heads = 0;
  /** How requests are answered from now on. */
  answer: Answer = (exchange, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(completion(exchange, this.exchanges.length)));
  };
  #server: Server | undefined;
  #port = 0;

  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** Listens on the port it had before, at first on a free one; does nothing when it listens already. */
  async start(): Promise<this> {
    if (this.#server !== undefined) return this;
    const options = { maxHeaderSize: MAX_HEADER_BYTES };
    const server = createServer(
      options,
      (request, response) => void this.#serve(request, response),
    );
    server.on("checkContinue", (request, response) => {
      response.writeContinue();
      void this.#serve(request, response);
    });
    server.keepAliveTimeout = 60_000;
    server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
    return this;
  }

  /** Dies at once: every connection is cut, new ones are refused. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === "/health") {
      response.writeHead(this.healthy ? 200 : 503).end();
      return;
    }
    this.heads++;
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return; // The client left before its body was complete.
    }
    const body = Buffer.concat(chunks);
    const exchange: Exchange = {
      endpoint: this.address,
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      trailers: request.trailers,
      bodyBytes: body.length,
      bodySha256: sha256(body),
      body,
      socket: request.socket,
    };
    this.exchanges.push(exchange);
    await this.answer(exchange, response);
  }
}
