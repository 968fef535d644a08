// SPDX-License-Identifier: Apache-2.0
// The request reader of the filter as a module of its own, fed from TypeScript.
import { readFile } from "node:fs/promises";
import { buildReader } from "../../cli/build.ts";

/** What the reader says of one body; hashes as bigints, boundaries shallow to deep. */
export interface Answer {
  dialect: number;
  reading: number;
  turn: number;
  items: number;
  lastModelEndByte: number;
  ambiguous: boolean;
  openRun: boolean;
  historyHeld: boolean;
  head: bigint;
  headBytes: number;
  headTokens: number;
  model: bigint;
  promptBytes: number;
  promptTokens: number;
  session: bigint;
  sessionSource: string;
  program: bigint;
  headPieces: { hash: bigint; tokens: number }[];
  boundaries: {
    chain: bigint;
    runs: number;
    prefixBytes: number;
    prefixTokens: number;
    afterRunBytes: number;
  }[];
}

type Numbers =
  | "window"
  | "windowBytes"
  | "finish"
  | "dialect"
  | "reading"
  | "turn"
  | "items"
  | "lastModelEndByte"
  | "ambiguous"
  | "openRun"
  | "historyHeld"
  | "headBytes"
  | "headTokens"
  | "promptBytes"
  | "promptTokens"
  | "sessionSourceBytes"
  | "boundaryCount"
  | "headPieceCount";
type Hashes = "head" | "model" | "session" | "program";

type Exports = Record<Numbers, () => number> &
  Record<Hashes, () => bigint> & {
    memory: WebAssembly.Memory;
    reset(tenant: bigint, pathBytes: number): number;
    header(nameBytes: number, valueBytes: number): void;
    feed(bytes: number): number;
    answer(): void;
    chain(at: number): bigint;
    runs(at: number): number;
    prefixBytes(at: number): number;
    prefixTokens(at: number): number;
    afterRunBytes(at: number): number;
    headPiece(at: number): bigint;
    headPieceTokens(at: number): number;
    maskPass(bytes: number): bigint;
  };

export interface ReadOptions {
  path?: string;
  tenant?: bigint;
  headers?: [string, string][];
  /** Sizes of the chunks in which the body comes; what they do not cover comes at once. */
  chunks?: number[];
}

const CHAT_PATH = "/v1/chat/completions";

export class ReaderModule {
  readonly windowBytes: number;
  private readonly exports: Exports;
  private readonly window: number;

  private constructor(instance: WebAssembly.Instance) {
    this.exports = instance.exports as unknown as Exports;
    this.window = this.exports.window() >>> 0;
    this.windowBytes = this.exports.windowBytes();
  }

  static async load(): Promise<ReaderModule> {
    const bytes = await readFile(await buildReader());
    const abort = () => {
      throw new Error("the request reader trapped");
    };
    const { instance } = await WebAssembly.instantiate(bytes, { env: { abort } });
    return new ReaderModule(instance);
  }

  /** Reads one body from the first byte to the last and says what it is. */
  read(body: Uint8Array, options: ReadOptions = {}): Answer {
    this.start(options);
    let at = 0;
    for (const chunk of options.chunks ?? []) at += this.feed(body, at, chunk);
    while (at < body.length) at += this.feed(body, at, this.windowBytes);
    this.exports.finish();
    return this.answer();
  }

  /** Makes ready for a body; then `feed`. */
  start({ path = CHAT_PATH, tenant = 7n, headers = [] }: ReadOptions = {}): void {
    this.exports.reset(tenant, this.put(Buffer.from(path)));
    for (const [name, value] of headers) {
      const nameBytes = Buffer.from(name);
      const valueBytes = Buffer.from(value);
      this.put(Buffer.concat([nameBytes, valueBytes]));
      this.exports.header(nameBytes.length, valueBytes.length);
    }
  }

  /** @returns how many bytes were fed: `count` at most */
  feed(body: Uint8Array, from: number, count: number): number {
    const chunk = body.subarray(from, from + Math.min(count, this.windowBytes));
    this.exports.feed(this.put(chunk));
    return chunk.length;
  }

  finish(): void {
    this.exports.finish();
  }

  /** Reads a body without looking at the answer. */
  readOnly(body: Uint8Array, path = CHAT_PATH): void {
    this.start({ path });
    for (let at = 0; at < body.length;) at += this.feed(body, at, this.windowBytes);
    this.exports.finish();
  }

  /** The yardstick of a machine: masks of quotes and escapes over a body, window by window. */
  maskPass(body: Uint8Array): void {
    for (let at = 0; at < body.length; at += this.windowBytes) {
      this.exports.maskPass(Math.min(this.windowBytes, body.length - at));
    }
  }

  answer(): Answer {
    const { exports } = this;
    exports.answer();
    const rows = <T>(count: number, row: (at: number) => T) =>
      Array.from({ length: count }, (_, at) => row(at));
    return {
      dialect: exports.dialect(),
      reading: exports.reading(),
      turn: exports.turn(),
      items: exports.items(),
      lastModelEndByte: exports.lastModelEndByte(),
      ambiguous: exports.ambiguous() !== 0,
      openRun: exports.openRun() !== 0,
      historyHeld: exports.historyHeld() !== 0,
      head: exports.head(),
      headBytes: exports.headBytes(),
      headTokens: exports.headTokens(),
      model: exports.model(),
      promptBytes: exports.promptBytes(),
      promptTokens: exports.promptTokens(),
      session: exports.session(),
      program: exports.program(),
      sessionSource: this.take(exports.sessionSourceBytes()),
      headPieces: rows(exports.headPieceCount(), (at) => ({
        hash: exports.headPiece(at),
        tokens: exports.headPieceTokens(at),
      })),
      boundaries: rows(exports.boundaryCount(), (at) => ({
        chain: exports.chain(at),
        runs: exports.runs(at),
        prefixBytes: exports.prefixBytes(at),
        prefixTokens: exports.prefixTokens(at),
        afterRunBytes: exports.afterRunBytes(at),
      })),
    };
  }

  private put(bytes: Uint8Array): number {
    new Uint8Array(this.exports.memory.buffer).set(bytes, this.window);
    return bytes.length;
  }

  private take(bytes: number): string {
    return Buffer.from(this.exports.memory.buffer, this.window, bytes).toString();
  }
}
