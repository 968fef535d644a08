// SPDX-License-Identifier: Apache-2.0
// Serves the live page on 127.0.0.1 and pushes every change to the browsers that look at it.
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Failure } from "../../../cli/failure.ts";
import { bundlePage, styledPage } from "../bundle-page.ts";
import type { ArmPoint, ArmState, LiveEvent, LiveState } from "./state.ts";

/** The page and its listeners. */
export class LiveServer {
  private readonly listeners = new Set<ServerResponse>();

  private constructor(
    private readonly server: Server,
    private readonly state: LiveState,
  ) {}

  /**
   * @param port 0 for a free one
   * @throws Failure when the port is taken
   */
  static async start(title: string, facts: string[], port: number): Promise<LiveServer> {
    const page = styledPage("live/page.html");
    const script = await bundlePage("live/page.ts");
    const server = createServer();
    const state: LiveState = { title, phase: "starting", facts, arms: [] };
    const live = new LiveServer(server, state);
    server.on("request", (request, response) => {
      if (request.url === "/events") live.listen(response);
      else if (request.url === "/page.js") send(response, "text/javascript", script);
      else if (request.url === "/") send(response, "text/html", page);
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error) =>
        reject(new Failure(`the page cannot be served: ${error.message}`)),
      );
      server.listen(port, "127.0.0.1", resolve);
    });
    return live;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  addArm(arm: ArmState): void {
    this.state.arms.push(arm);
    this.broadcast({ type: "state", state: this.state });
  }

  setPhase(phase: string): void {
    this.state.phase = phase;
    this.broadcast({ type: "phase", phase });
  }

  point(arm: ArmState, point: ArmPoint): void {
    const { name, totals, state } = arm;
    this.broadcast({ type: "point", arm: name, point, totals, state });
  }

  async close(): Promise<void> {
    for (const listener of this.listeners) listener.end();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private listen(response: ServerResponse): void {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    this.listeners.add(response);
    response.on("close", () => this.listeners.delete(response));
    response.write(encode({ type: "state", state: this.state }));
  }

  private broadcast(event: LiveEvent): void {
    for (const listener of this.listeners) listener.write(encode(event));
  }
}

function encode(event: LiveEvent): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}

function send(response: ServerResponse, type: string, body: string | Buffer): void {
  response.writeHead(200, {
    "content-type": `${type}; charset=utf-8`,
    "cache-control": "no-store",
  });
  response.end(body);
}
