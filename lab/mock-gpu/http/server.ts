// SPDX-License-Identifier: Apache-2.0
// The mock GPU's HTTP server: sockets, routes, and the handle that tests and launchers hold.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo } from "node:net";
import { Cluster } from "../engine/cluster.ts";
import { Engine } from "../engine/engine.ts";
import { type Backend, engineBackend } from "./backend.ts";
import { Exchange, HttpError, readBody } from "./exchange.ts";
import { type Faults } from "./faults.ts";
import { engineOptionsOf, Gpu, type GpuOptions } from "./gpu.ts";
import { orcaHeaders } from "./orca.ts";
import { type Recorder } from "./recorder.ts";
import { findRoute } from "./routes.ts";
import { WallClock } from "./wall-clock.ts";

export interface MockGpuOptions extends GpuOptions {
  /** Default 127.0.0.1. */
  host?: string;
  /** Default: a free port. */
  port?: number;
}

/** A running mock GPU. */
export interface MockGpu {
  url: string;
  /** host:port, as Envoy names an endpoint. */
  address: string;
  port: number;
  engine: Engine;
  recorder: Recorder;
  faults: Faults;
  /** Settles when a fault has killed it. */
  readonly died: Promise<void>;
  /** Closes the listener and cuts every connection, as a killed process would. */
  die(): Promise<void>;
  /** Listens again on the same port with an empty cache. */
  revive(): Promise<void>;
  close(): Promise<void>;
}

const DEFAULT_HOST = "127.0.0.1";
const MAX_HEADER_BYTES = 256 * 1024;
/** Longer than any proxy keeps an idle connection: the server never closes one first. */
const KEEP_ALIVE_MS = 3_600_000;
const BACKLOG = 4096;

/** Starts one mock GPU and answers when it listens. */
export async function startMockGpu(options: MockGpuOptions = {}): Promise<MockGpu> {
  const cluster = new Cluster([new Engine(engineOptionsOf(options))]);
  const clock = new WallClock(cluster, options.speedup, options.wallMs);
  const server = new GpuServer(options, engineBackend(cluster, 0), clock);
  server.onClose(() => clock.close());
  await server.listen(options.port ?? 0);
  return server;
}

/** Sockets around a backend. */
export class GpuServer implements MockGpu {
  port = 0;
  readonly died: Promise<void>;
  private readonly host: string;
  private reportDeath: () => void = () => undefined;
  private closeListener: () => void = () => undefined;
  private gpu: Gpu | null = null;
  private server: Server | null = null;

  constructor(
    private readonly options: MockGpuOptions,
    private readonly backend: Backend,
    private readonly clock: WallClock,
  ) {
    this.host = options.host ?? DEFAULT_HOST;
    this.died = new Promise((resolve) => (this.reportDeath = resolve));
  }

  get address(): string {
    return `${this.host}:${this.port}`;
  }

  get url(): string {
    return `http://${this.address}`;
  }

  get engine(): Engine {
    return this.backend.engine;
  }

  get recorder(): Recorder {
    return this.listening.recorder;
  }

  get faults(): Faults {
    return this.listening.faults;
  }

  /** Runs when the server is closed for good. */
  onClose(listener: () => void): void {
    this.closeListener = listener;
  }

  async listen(port: number): Promise<void> {
    const server = createServer(
      { maxHeaderSize: MAX_HEADER_BYTES, keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 },
      (request, response) => void this.serve(request, response),
    );
    server.headersTimeout = 0;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, this.host, BACKLOG, resolve);
    });
    this.server = server;
    this.port = (server.address() as AddressInfo).port;
    this.gpu ??= new Gpu(this.options, this.address, this.backend, this.clock);
    this.gpu.onDie = () => void this.die().then(this.reportDeath);
  }

  async die(): Promise<void> {
    const server = this.server;
    this.server = null;
    if (server === null) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  }

  async revive(): Promise<void> {
    if (this.server !== null) return;
    this.gpu?.restart();
    await this.listen(this.port);
  }

  async close(): Promise<void> {
    await this.die();
    this.closeListener();
  }

  private get listening(): Gpu {
    if (this.gpu === null) throw new Error("The mock GPU does not listen yet.");
    return this.gpu;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gpu = this.listening;
    let exchange: Exchange | null = null;
    try {
      const body = await readBody(request);
      exchange = new Exchange(request, response, body, gpu.name, gpu.recorder);
      exchange.responseHeaders["x-mock-endpoint"] = gpu.name;
      exchange.lateHeaders = orcaHeaders(gpu, exchange);
      await findRoute(exchange)(gpu, exchange);
    } catch (error) {
      // Without an exchange the client went away in the middle of its body.
      if (exchange !== null) answerError(exchange, error);
    }
  }
}

const ANTHROPIC_ERRORS: Record<number, string> = {
  400: "invalid_request_error",
  404: "not_found_error",
  429: "rate_limit_error",
  503: "overloaded_error",
};

function answerError(exchange: Exchange, error: unknown): void {
  const known = error instanceof HttpError;
  const status = known ? error.status : 500;
  const message = error instanceof Error ? error.message : String(error);
  if (exchange.errorStyle === "anthropic") {
    const type = ANTHROPIC_ERRORS[status] ?? "api_error";
    exchange.sendJson(status, { type: "error", error: { type, message } });
    return;
  }
  exchange.sendJson(status, {
    error: {
      message,
      type: known ? error.type : "InternalServerError",
      param: known ? error.param : null,
      code: status,
    },
  });
}
