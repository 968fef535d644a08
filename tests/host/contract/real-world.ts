// SPDX-License-Identifier: Apache-2.0
// A real Envoy as a world for contract situations: the launcher's bootstrap with the probe in the filter's place.
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { startEnvoy, type RunningEnvoy } from "../../../envoy/launcher.ts";
import { editBootstrap } from "./real-bootstrap.ts";
import { RealExchange } from "./real-client.ts";
import { RealEndpoints } from "./real-endpoints.ts";
import {
  normalise,
  PATIENCE_MS,
  type Ask,
  type Running,
  type Seen,
  type Setup,
  type World,
} from "./world.ts";

/** The log is written a moment after the client has seen the end. */
const REPORT_PATIENCE_MS = 600;
const POLL_MS = 20;
const HEALTH_PATIENCE_MS = 10_000;

/** @throws Failure when Envoy does not start */
export async function startRealWorld(setup: Setup, wasm: string, version?: string): Promise<World> {
  const endpoints = new RealEndpoints();
  await endpoints.start(setup.dead ?? []);
  try {
    const envoy = await startEnvoy({
      bootstrap: "pin",
      endpoints: endpoints.addresses,
      wasm,
      concurrency: setup.workers ?? 1,
      edit: (bootstrap) => editBootstrap(bootstrap, setup, endpoints.addresses),
      ...(version === undefined ? {} : { version }),
    });
    return new RealWorld(envoy, endpoints);
  } catch (fault) {
    await endpoints.close();
    throw fault;
  }
}

class RealWorld implements World {
  private count = 0;
  private readonly sent = new Map<string, string[]>();

  constructor(
    private readonly envoy: RunningEnvoy,
    private readonly endpoints: RealEndpoints,
  ) {}

  async ask(ask: Ask): Promise<Seen> {
    const { path, exchange } = await this.begin(ask);
    const answered = await exchange.until(
      () => exchange.over || exchange.status !== undefined,
      PATIENCE_MS,
    );
    if (!answered || exchange.status === undefined) {
      exchange.leave();
      return { ...(await this.seen(path, exchange)), status: "hangs" };
    }
    await exchange.until(() => exchange.over, PATIENCE_MS);
    return this.seen(path, exchange);
  }

  async start(ask: Ask): Promise<Running> {
    const { path, exchange } = await this.begin(ask);
    if (!ask.unfinished) await exchange.until(() => exchange.status !== undefined, PATIENCE_MS);
    else await sleep(POLL_MS * 3);
    const end = async (): Promise<Seen> => {
      await exchange.until(() => exchange.over, PATIENCE_MS);
      return this.seen(path, exchange);
    };
    return {
      endpoint: this.endpoints.received.get(path)?.endpoint ?? -1,
      end,
      over: () => exchange.over,
      finish: () => {
        this.endpoints.finish(path);
        return end();
      },
      leave: async () => {
        exchange.leave();
        return { ...(await this.seen(path, exchange)), status: "left" };
      },
      send: async (chunk, last) => {
        this.sent.get(path)!.push(chunk);
        exchange.write(chunk);
        if (last) exchange.end();
      },
    };
  }

  async wait(ms: number): Promise<void> {
    await sleep(ms);
  }

  address(index: number): string {
    return this.endpoints.addresses[index]!;
  }

  async fail(index: number): Promise<void> {
    this.endpoints.fail(index);
    const failed = `llm::${this.address(index)}::health_flags::/failed_active_hc`;
    const deadline = performance.now() + HEALTH_PATIENCE_MS;
    while (performance.now() < deadline) {
      const clusters = await (await fetch(`${this.envoy.adminUrl}/clusters`)).text();
      if (clusters.includes(failed)) return;
      await sleep(POLL_MS);
    }
    throw new Error("Envoy does not notice the failing endpoint");
  }

  async gauge(name: string): Promise<number> {
    return (await this.envoy.stats(name))[`wasmcustom.${name}`] ?? 0;
  }

  async configured(): Promise<number> {
    return this.envoy.log().split(": configured\n").length - 1;
  }

  async close(): Promise<void> {
    await this.envoy.stop();
    await this.endpoints.close();
  }

  private async begin(ask: Ask): Promise<{ path: string; exchange: RealExchange }> {
    this.count += 1;
    const path = `/situation/${this.count}`;
    this.endpoints.answers.set(path, ask.answer ?? {});
    const named = ask.want === undefined ? undefined : Buffer.from(this.address(ask.want));
    const want = named?.toString("base64") ?? ask.wantText;
    const headers = { ...ask.headers, ...(want === undefined ? {} : { "x-want": want }) };
    this.sent.set(path, [...(ask.chunks ?? (ask.body === undefined ? [] : [ask.body]))]);
    const exchange = new RealExchange(this.envoy.url, path, ask, headers);
    await exchange.send();
    return { path, exchange };
  }

  private async seen(path: string, exchange: RealExchange): Promise<Seen> {
    const events = normalise(await this.report(path), this.endpoints.addresses);
    const received = this.endpoints.received.get(path);
    const sent = createHash("sha256").update(this.sent.get(path)!.join(""));
    return {
      status: exchange.status ?? "hangs",
      cut: exchange.cut,
      headers: exchange.headers,
      body: exchange.body,
      endpoint: received?.endpoint ?? -1,
      upstreamHeaders: received?.headers ?? {},
      upstreamTrailers: received?.trailers ?? {},
      intact: received?.sha === sent.digest("hex"),
      events,
    };
  }

  /** The probe's report on a stream; "" when none comes. */
  private async report(path: string): Promise<string> {
    const deadline = performance.now() + REPORT_PATIENCE_MS;
    const mark = `probe|${path}|`;
    for (;;) {
      const log = this.envoy.log();
      const at = log.lastIndexOf(mark);
      if (at >= 0) return log.slice(at + mark.length).split("\n")[0]!;
      if (performance.now() > deadline) return "";
      await sleep(POLL_MS);
    }
  }
}
