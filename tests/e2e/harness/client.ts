// SPDX-License-Identifier: Apache-2.0
// Sends requests in every shape that HTTP allows, without a client library's opinion in between.
import { once } from "node:events";
import {
  request,
  type Agent,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Conversation } from "./conversation.ts";

export const CHAT_PATH = "/v1/chat/completions";
const CONTINUE_PATIENCE_MS = 1_000;

export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface SendOptions {
  path?: string;
  method?: string;
  headers?: OutgoingHttpHeaders;
  /** One connection a request unless given. */
  agent?: Agent;
  /** `Transfer-Encoding: chunked` with pieces of this many bytes instead of a content length. */
  chunkBytes?: number;
  trailers?: Record<string, string>;
  /** `Expect: 100-continue`: the body is sent when the server says so, or after a second, as curl does it. */
  expect?: boolean;
}

/** The response to a request, once its head has arrived. */
export async function responseTo(outgoing: ClientRequest): Promise<IncomingMessage> {
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
  return incoming;
}

async function readAll(stream: AsyncIterable<unknown>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function* pieces(body: Buffer, sizeBytes: number): Generator<Buffer> {
  for (let start = 0; start < body.length; start += sizeBytes)
    yield body.subarray(start, start + sizeBytes);
}

/** HTTP/1.1. */
export async function send(
  url: string,
  body: string | Buffer,
  options: SendOptions = {},
): Promise<Reply> {
  const bytes = Buffer.from(body);
  const headers: OutgoingHttpHeaders = { "content-type": "application/json", ...options.headers };
  if (options.chunkBytes === undefined) headers["content-length"] = bytes.length;
  if (options.expect) headers["expect"] = "100-continue";
  if (options.trailers) headers["trailer"] = Object.keys(options.trailers).join(", ");
  const outgoing = request(url + (options.path ?? CHAT_PATH), {
    method: options.method ?? "POST",
    headers,
    agent: options.agent ?? false,
  });
  const answered = responseTo(outgoing);
  if (options.expect) {
    outgoing.flushHeaders();
    await Promise.race([once(outgoing, "continue"), answered, sleep(CONTINUE_PATIENCE_MS)]);
  }
  if (options.chunkBytes === undefined) outgoing.write(bytes);
  else for (const piece of pieces(bytes, options.chunkBytes)) outgoing.write(piece);
  if (options.trailers) outgoing.addTrailers(options.trailers);
  outgoing.end();
  const incoming = await answered;
  const { statusCode = 0, headers: received } = incoming;
  return { status: statusCode, headers: received, body: await readAll(incoming) };
}

/** HTTP/2 with prior knowledge. */
export async function sendHttp2(
  url: string,
  body: string | Buffer,
  options: SendOptions = {},
): Promise<Reply> {
  const session = connectHttp2(url);
  try {
    const stream = session.request(
      {
        ":method": options.method ?? "POST",
        ":path": options.path ?? CHAT_PATH,
        "content-type": "application/json",
        ...options.headers,
      },
      { waitForTrailers: options.trailers !== undefined },
    );
    stream.on("wantTrailers", () => stream.sendTrailers(options.trailers ?? {}));
    const answered = once(stream, "response");
    for (const piece of pieces(Buffer.from(body), options.chunkBytes ?? 65_536))
      stream.write(piece);
    stream.end();
    const [headers] = (await answered) as [IncomingHttpHeaders & { ":status": number }];
    return { status: headers[":status"], headers, body: await readAll(stream) };
  } finally {
    session.close();
  }
}

/** HTTP/1.1 with every byte of the body in a write of its own, given to the network one after the other. */
export async function sendByteByByte(url: string, body: string | Buffer): Promise<Reply> {
  const bytes = Buffer.from(body);
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  await once(socket, "connect");
  const head = [
    `POST ${CHAT_PATH} HTTP/1.1`,
    `host: ${hostname}`,
    "content-type: application/json",
    `content-length: ${bytes.length}`,
    "connection: close",
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  for (let i = 0; i < bytes.length; i++) {
    socket.write(bytes.subarray(i, i + 1));
    await new Promise((resolve) => setImmediate(resolve));
  }
  const text = await readAll(socket);
  const end = text.indexOf("\r\n\r\n");
  const status = Number(text.subarray(9, 12).toString());
  return { status, headers: {}, body: text.subarray(end + 4) };
}

/** Sends the conversation's next request and takes the answer into its history. */
export async function takeTurn(
  url: string,
  conversation: Conversation,
  nextText: string,
  options: SendOptions = {},
): Promise<Reply> {
  const reply = await send(url, conversation.body(), options);
  if (reply.status === 200) {
    const answer = JSON.parse(reply.body.toString()) as {
      choices: { message: { content: string } }[];
    };
    conversation.goOn(answer.choices[0]?.message.content ?? "", nextText);
  }
  return reply;
}
