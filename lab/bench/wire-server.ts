// SPDX-License-Identifier: Apache-2.0
// The cheapest possible endpoint: counts the bytes of a request and sends a prepared answer.
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { once } from "node:events";

/** Events of a streamed answer before the one with the usage. */
export const EVENTS = 32;

/** Names the client's connection, so that it can ask for the next event. */
export const LANE_HEADER = "x-bench-lane";
/** Asks for an event stream. */
export const STREAM_HEADER = "x-bench-stream";

const HEAD_END = "\r\n\r\n";
const BYTES_PER_TOKEN = 4;

function usageOf(bodyBytes: number) {
  const prompt_tokens = Math.ceil(bodyBytes / BYTES_PER_TOKEN);
  const prompt_tokens_details = { cached_tokens: Math.floor(prompt_tokens * 0.95) };
  return {
    prompt_tokens,
    completion_tokens: EVENTS,
    total_tokens: prompt_tokens + EVENTS,
    prompt_tokens_details,
  };
}

function answerOf(bodyBytes: number): string {
  const message = { role: "assistant", content: "I read the file and fixed the function." };
  const body = JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion",
    model: "model-a",
    choices: [{ index: 0, message, finish_reason: "stop" }],
    usage: usageOf(bodyBytes),
  });
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}${HEAD_END}${body}`;
}

function chunk(data: string): string {
  const event = `data: ${data}\n\n`;
  return `${event.length.toString(16)}\r\n${event}\r\n`;
}

const DELTA = chunk(
  JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1_700_000_000,
    model: "model-a",
    choices: [{ index: 0, delta: { content: " token" }, finish_reason: null }],
  }),
);

function lastEvents(bodyBytes: number): string {
  const finish = { index: 0, delta: {}, finish_reason: "stop" };
  const last = { id: "chatcmpl-1", object: "chat.completion.chunk", choices: [finish] };
  const usage = JSON.stringify({ ...last, usage: usageOf(bodyBytes) });
  return `${chunk(usage)}${chunk("[DONE]")}0\r\n\r\n`;
}

const STREAM_HEAD = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked${HEAD_END}`;

/** Reads pipelined-free HTTP/1.1 with content-length from one connection of Envoy. */
class Connection {
  private head = "";
  private missing = 0;
  private bodyBytes = 0;

  constructor(
    private readonly socket: Socket,
    private readonly lanes: Map<string, () => void>,
  ) {
    socket.setNoDelay(true);
    socket.on("data", (data: Buffer) => this.take(data));
    socket.on("error", () => socket.destroy());
  }

  private take(data: Buffer): void {
    if (this.missing > 0) {
      this.count(data.length);
      return;
    }
    this.head += data.toString("latin1");
    const end = this.head.indexOf(HEAD_END);
    if (end < 0) return;
    const came = this.head.length - end - HEAD_END.length;
    this.head = this.head.slice(0, end);
    this.bodyBytes = Number(this.header("content-length") ?? 0);
    this.missing = this.bodyBytes;
    this.count(came);
  }

  private count(bytes: number): void {
    this.missing -= bytes;
    if (this.missing > 0) return;
    const lane = this.header(LANE_HEADER);
    const streams = this.header(STREAM_HEADER) !== undefined;
    this.head = "";
    if (streams && lane !== undefined) this.stream(lane);
    else this.socket.write(answerOf(this.bodyBytes));
  }

  /** The client asks for each event when it has the one before: none are merged on the way. */
  private stream(lane: string): void {
    let sent = 1;
    this.lanes.set(lane, () => {
      if (++sent <= EVENTS) this.socket.write(DELTA);
      else if (this.lanes.delete(lane)) this.socket.write(lastEvents(this.bodyBytes));
    });
    this.socket.write(STREAM_HEAD + DELTA);
  }

  private header(name: string): string | undefined {
    const start = this.head.toLowerCase().indexOf(`\r\n${name}: `);
    if (start < 0) return undefined;
    const from = start + name.length + 4;
    const end = this.head.indexOf("\r\n", from);
    return this.head.slice(from, end < 0 ? undefined : end);
  }
}

/** Several endpoints in this process. */
export class WireServer {
  readonly endpoints: string[] = [];
  private readonly servers: Server[] = [];
  private readonly sockets = new Set<Socket>();
  private readonly lanes = new Map<string, () => void>();

  static async start(count: number): Promise<WireServer> {
    const wire = new WireServer();
    for (let i = 0; i < count; i++) await wire.listen();
    return wire;
  }

  /** Sends the next event of the stream that a lane waits for. */
  advance(lane: string): void {
    this.lanes.get(lane)?.();
  }

  stop(): void {
    for (const server of this.servers) server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private async listen(): Promise<void> {
    const server = createServer((socket) => {
      this.sockets.add(socket);
      socket.on("close", () => this.sockets.delete(socket));
      new Connection(socket, this.lanes);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    this.endpoints.push(`127.0.0.1:${(server.address() as AddressInfo).port}`);
    this.servers.push(server);
  }
}
