// SPDX-License-Identifier: Apache-2.0
// What a contract situation can do and see, whether the Envoy is the virtual or the real one.

export type Chain = "pin" | "pin_buffered" | "filter_state" | "no_buffer" | "override_host";

/** One Envoy; situations with the same setup share it. */
export interface Setup {
  /** Configuration of the probe filter. */
  probe: string;
  chain?: Chain;
  /** allow_on_headers_stop_iteration (default true). */
  flag?: boolean;
  failurePolicy?: "fail_closed" | "fail_open" | "fail_reload";
  workers?: number;
  connectionBytes?: number;
  http2WindowBytes?: number;
  routeBodyBytes?: number;
  idleTimeoutMs?: number;
  routeTimeoutMs?: number;
  /** Endpoints whose port is closed. */
  dead?: number[];
  /** Retries elsewhere (default true). */
  retries?: boolean;
  /** Active health checks, for `World.fail`. */
  healthChecks?: boolean;
  /** Two clusters: `x-smetric-turn: 1` goes to endpoints 0 and 1, everything else to 2 and 3. */
  splitByTurn?: boolean;
}

/** What an endpoint answers to one path. */
export interface Answer {
  status?: number;
  headers?: Record<string, string>;
  chunks?: string[];
  trailers?: Record<string, string>;
  /** After the chunks: keep the response open, break the connection, or end (default). */
  then?: "hold" | "break" | "end";
  /** Break the connection instead of answering, or never answer. */
  instead?: "break" | "silence";
}

export interface Ask {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  /** Separate arrivals, sent without a content length. */
  chunks?: string[];
  /** The request does not end. */
  unfinished?: boolean;
  trailers?: Record<string, string>;
  protocol?: "http1" | "http2";
  answer?: Answer;
  /** Index of the endpoint to name in `x-want`, as stateful_session writes it. */
  want?: number;
  /** Verbatim `x-want`. */
  wantText?: string;
}

/** What came of a request. */
export interface Seen {
  status: number | "hangs" | "left";
  /** The response broke off. */
  cut: boolean;
  headers: Record<string, string>;
  body: string;
  /** Endpoint that received the request last; -1 = none. */
  endpoint: number;
  /** Headers that this endpoint received. */
  upstreamHeaders: Record<string, string>;
  upstreamTrailers: Record<string, string>;
  /** The endpoint received exactly the bytes that were sent. */
  intact: boolean;
  /** The probe's report, with sizes left out (see `normalise`); "" when the guest never finished the stream. */
  events: string;
}

/** A request whose response has begun (or that hangs) and is not over. */
export interface Running {
  /** Endpoint that is answering; -1 = none. */
  endpoint: number;
  /** The client has seen the end of it. */
  over(): boolean;
  /** The endpoint ends its answer. */
  finish(): Promise<Seen>;
  /** The client goes away. */
  leave(): Promise<Seen>;
  /** Somebody else ends it: waits for that. */
  end(): Promise<Seen>;
  /** The client sends more of an unfinished request; `last` ends it. */
  send(chunk: string, last: boolean): Promise<void>;
}

export interface World {
  ask(ask: Ask): Promise<Seen>;
  start(ask: Ask): Promise<Running>;
  /** Lets time pass. */
  wait(ms: number): Promise<void>;
  /** `ip:port` of an endpoint. */
  address(index: number): string;
  /** Health checks of this endpoint fail from now on, and Envoy knows. */
  fail(index: number): Promise<void>;
  gauge(name: string): Promise<number>;
  /** How often the probe was configured since the start. */
  configured(): Promise<number>;
  close(): Promise<void>;
}

export interface Situation {
  name: string;
  setup: Setup;
  run: (world: World) => Promise<object>;
  expect: object;
}

/** Starting with this setup must fail. */
export interface Refusal {
  name: string;
  setup: Setup;
  /** The module that lacks an import instead of the probe. */
  unloadable?: boolean;
}

export const ENDPOINTS = 4;

/** How long a request may show no sign of a response before it "hangs". */
export const PATIENCE_MS = 2500;

/**
 * Leaves out of a probe report what may differ between runs: sizes and numbers of body calls, addresses.
 * `B=2` stands for any number of body calls with data, `B!=0` for one with data and the end, `B.=0` for an empty end.
 */
export function normalise(report: string, addresses: readonly string[]): string {
  let text = report;
  addresses.forEach((address, index) => {
    text = text.replaceAll(address, `@${index}`);
    text = text.replaceAll(Buffer.from(address).toString("base64"), `#${index}`);
  });
  text = text
    .replace(/([Bb])\(0,1\)=/g, "$1.=")
    .replace(/([Bb])\(\d+,1\)=/g, "$1!=")
    .replace(/([Bb])\(\d+,0\)=/g, "$1=");
  // Whether the last bytes of a response carry the end is up to the server's writes.
  text = text.replace(/(?:b=0 )?b[.!]=0/g, "b.=0");
  const words = text.split(" ").filter((word, index, all) => word !== all[index - 1]);
  return words.join(" ");
}
