// SPDX-License-Identifier: Apache-2.0
// The cheapest possible client: one connection that sends prepared bodies and looks for the end of each answer.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Failure } from "../../cli/failure.ts";
import { LANE_HEADER, STREAM_HEADER, type WireServer } from "./wire-server.ts";

const CHAT_PATH = "/v1/chat/completions";
const EVENT_END = Buffer.from("\n\n");
const LAST_CHUNK = Buffer.from("\r\n0\r\n\r\n");
const OK = "HTTP/1.1 200";

let lanes = 0;

export interface SendOptions {
  path?: string;
  streaming?: boolean;
  /** Lines of further headers, each ended by CR LF. */
  headers?: string;
}

export class WireClient {
  private readonly lane = `lane-${++lanes}`;
  private done: (error?: Error) => void = () => {};
  private received: Buffer[] = [];
  private streaming = false;

  private constructor(
    private readonly socket: Socket,
    private readonly server: WireServer,
  ) {
    socket.setNoDelay(true);
    socket.on("data", (data: Buffer) => this.take(data));
    socket.on("error", (error) => this.done(error));
    socket.on("close", () => this.done(new Failure("Envoy closed a connection of the bench")));
  }

  /** @param url of a listener, e.g. http://127.0.0.1:10000 */
  static async open(url: string, server: WireServer): Promise<WireClient> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    return new WireClient(socket, server);
  }

  /** Sends one request and waits for the last byte of the answer. */
  async send(
    body: Buffer,
    { path = CHAT_PATH, streaming = false, headers = "" }: SendOptions = {},
  ) {
    this.streaming = streaming;
    this.received = [];
    const wish = streaming ? `${STREAM_HEADER}: 1\r\n` : "";
    const head =
      `POST ${path} HTTP/1.1\r\nhost: llm\r\nuser-agent: bench\r\naccept: */*\r\n` +
      `authorization: Bearer sk-0123456789\r\ncontent-type: application/json\r\n` +
      `${LANE_HEADER}: ${this.lane}\r\n${wish}${headers}content-length: ${body.length}\r\n\r\n`;
    await new Promise<void>((resolve, reject) => {
      this.done = (error) => (error === undefined ? resolve() : reject(error));
      this.socket.cork();
      this.socket.write(head);
      this.socket.write(body);
      this.socket.uncork();
    });
  }

  close(): void {
    this.done = () => {};
    this.socket.destroy();
  }

  private take(data: Buffer): void {
    if (this.received.length === 0 && !data.subarray(0, OK.length).equals(Buffer.from(OK))) {
      const line = data.toString("latin1").split("\r\n")[0];
      this.done(new Failure(`the bench got an unexpected answer: ${line}`));
      return;
    }
    if (this.streaming) this.takeEvents(data);
    else this.takeAnswer(data);
  }

  private takeEvents(data: Buffer): void {
    this.received = [data];
    if (data.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK)) this.done();
    else if (data.includes(EVENT_END)) this.server.advance(this.lane);
  }

  private takeAnswer(data: Buffer): void {
    this.received.push(data);
    const whole = Buffer.concat(this.received).toString("latin1");
    const end = whole.indexOf("\r\n\r\n");
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(whole)?.[1];
    if (end >= 0 && whole.length >= end + 4 + Number(length ?? 0)) this.done();
  }
}
