// SPDX-License-Identifier: Apache-2.0
// Plain requests against a mock GPU: bodies as they are sent, bytes as they are received.
import { createHash } from "node:crypto";
import { request } from "node:http";
import {
  startMockGpu,
  type MockGpu,
  type MockGpuOptions,
} from "../../../../lab/mock-gpu/http/server.ts";

export type Json = Record<string, unknown>;

export interface Reply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  json: Json;
  sha256: string;
}

/** Runs `use` with a mock GPU that is fast and is always closed. */
export async function withGpu(
  options: MockGpuOptions,
  use: (gpu: MockGpu) => Promise<void>,
): Promise<void> {
  const gpu = await startMockGpu({ preset: "8b-h100", speedup: 50, model: "mock", ...options });
  try {
    await use(gpu);
  } finally {
    await gpu.close();
  }
}

/** One request; `parts` are written one by one. */
export function send(
  gpu: MockGpu,
  method: string,
  path: string,
  parts: (string | Buffer)[] = [],
  headers: Record<string, string> = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { host: "127.0.0.1", port: gpu.port, method, path, headers, agent: false },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("error", reject);
        incoming.on("end", () => {
          const body = Buffer.concat(chunks);
          const text = body.toString();
          resolve({
            status: incoming.statusCode ?? 0,
            headers: incoming.headers,
            text,
            json: parse(text),
            sha256: createHash("sha256").update(body).digest("hex"),
          });
        });
      },
    );
    outgoing.on("error", reject);
    for (const part of parts) outgoing.write(part);
    outgoing.end();
  });
}

export function post(
  gpu: MockGpu,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Reply> {
  return send(gpu, "POST", path, [JSON.stringify(body)], headers);
}

/** Data of each server-sent event; `[DONE]` stays text. */
export function eventData(text: string): unknown[] {
  return text
    .split("\n\n")
    .map((event) =>
      event
        .split("\n")
        .find((line) => line.startsWith("data: "))
        ?.slice(6),
    )
    .filter((data) => data !== undefined)
    .map((data) => (data === "[DONE]" ? data : (JSON.parse(data) as unknown)));
}

function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return {};
  }
}

export function user(content: string): Json {
  return { role: "user", content };
}

/** Text of about `tokens` tokens that starts like no other. */
export function longText(tokens: number, salt: number): string {
  return Array.from({ length: tokens / 2 }, (_, i) => `w${salt} ${i % 977}`).join(" ");
}
