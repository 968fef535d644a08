// SPDX-License-Identifier: Apache-2.0
// Prefill and decode on different engines: the prompt's KV crosses a link in between.
import { BandwidthPipe } from "./bandwidth-pipe.ts";
import { type Cluster } from "./cluster.ts";
import {
  type EndReason,
  type EngineRequest,
  type PromptTransfer,
  type RequestInit,
  type RequestSink,
  type ServedRequest,
} from "./request.ts";

export interface DisaggregationOptions {
  /** The first engines of the cluster prefill, the next ones decode. */
  prefill: number;
  decode: number;
  /** 10^9 bytes a second that leave one prefill engine. */
  transferGbPerS: number;
  setupMs?: number;
}

const DEFAULT_SETUP_MS = 1;

/** The two pools of a disaggregated fleet. The caller picks the prefill engine, the fleet the decode engine. */
export class Disaggregation {
  private readonly links: BandwidthPipe[];

  constructor(
    private readonly cluster: Cluster,
    private readonly options: DisaggregationOptions,
  ) {
    const setupMs = options.setupMs ?? DEFAULT_SETUP_MS;
    this.links = Array.from(
      { length: options.prefill },
      () => new BandwidthPipe(options.transferGbPerS, setupMs),
    );
  }

  /** Bytes that left a prefill engine. */
  transferredBytes(prefill: number): number {
    return this.link(prefill).bytes;
  }

  /** Prefills on engine `prefill`, then decodes where the fewest context tokens run. */
  submit(prefill: number, init: RequestInit, nowMs: number): PairedRequest {
    const link = this.link(prefill);
    // Later, in the middle of an advance, nobody could be told.
    this.cluster.engine(this.options.prefill).check(init);
    const paired = new PairedRequest(this.cluster, prefill, init.sink ?? {});
    paired.prefill = this.cluster.submit(
      prefill,
      {
        ...init,
        outputTokens: 1,
        holdBlocks: true,
        endsInWait: false,
        sink: {
          end: (request, atMs) => {
            if (request.endReason === "aborted") paired.ended("aborted", atMs);
            else this.decode(paired, init, link, atMs);
          },
        },
      },
      nowMs,
    );
    return paired;
  }

  private decode(
    paired: PairedRequest,
    init: RequestInit,
    link: BandwidthPipe,
    nowMs: number,
  ): void {
    const { prefill, prefillIndex } = paired;
    if (prefill === null) return;
    const bytesPerToken = this.cluster.engine(prefillIndex).options.kvBytesPerToken;
    const transfer: PromptTransfer = {
      tokens: prefill.promptTokens,
      pull: (tokens, atMs) => link.reserve(tokens * bytesPerToken, atMs),
      release: (atMs) => this.cluster.releaseHeld(prefillIndex, prefill, atMs),
    };
    paired.decodeIndex = this.leastLoaded();
    paired.decode = this.cluster.submit(
      paired.decodeIndex,
      {
        ...init,
        transfer,
        sink: {
          tokens: (_, count, atMs) => paired.sink.tokens?.(paired, count, atMs),
          end: (request, atMs) => paired.ended(request.endReason ?? "done", atMs),
        },
      },
      nowMs,
    );
  }

  private leastLoaded(): number {
    let best = this.options.prefill;
    let fewest = Infinity;
    for (let i = 0; i < this.options.decode; i++) {
      const index = this.options.prefill + i;
      const tokens = this.cluster.engine(index).residentTokens;
      if (tokens >= fewest) continue;
      fewest = tokens;
      best = index;
    }
    return best;
  }

  private link(prefill: number): BandwidthPipe {
    const link = this.links[prefill];
    if (link === undefined) throw new RangeError(`There is no prefill engine ${prefill}.`);
    return link;
  }
}

/** A request that is served in two halves; its numbers are those that a client sees. */
export class PairedRequest implements ServedRequest {
  prefill: EngineRequest | null = null;
  decode: EngineRequest | null = null;
  decodeIndex = -1;
  endReason: EndReason | null = null;
  endMs = NaN;

  constructor(
    private readonly cluster: Cluster,
    readonly prefillIndex: number,
    readonly sink: RequestSink,
  ) {}

  get id(): string {
    return this.prefill?.id ?? "";
  }

  get promptTokens(): number {
    return this.prefill?.promptTokens ?? 0;
  }

  get arrivalMs(): number {
    return this.prefill?.arrivalMs ?? NaN;
  }

  get firstScheduledMs(): number {
    return this.prefill?.firstScheduledMs ?? NaN;
  }

  get firstTokenMs(): number {
    return this.decode?.firstTokenMs ?? NaN;
  }

  get generated(): number {
    return this.decode?.generated ?? 0;
  }

  /** Of the prefill half: what the decode half received is no cache hit. */
  get cachedTokens(): number {
    return this.prefill?.cachedTokens ?? -1;
  }

  get localTokens(): number {
    return this.prefill?.localTokens ?? 0;
  }

  get fetchedTokens(): number {
    return this.prefill?.fetchedTokens ?? 0;
  }

  get computedTokens(): number {
    return (this.prefill?.computedTokens ?? 0) + (this.decode?.computedTokens ?? 0);
  }

  get recomputedTokens(): number {
    return (this.prefill?.recomputedTokens ?? 0) + (this.decode?.recomputedTokens ?? 0);
  }

  get preemptions(): number {
    return (this.prefill?.preemptions ?? 0) + (this.decode?.preemptions ?? 0);
  }

  get fetchMs(): number {
    return this.prefill?.fetchMs ?? 0;
  }

  /** Ends both halves; a no-op after the end. */
  abort(nowMs: number): void {
    if (this.endReason !== null) return;
    if (this.decode !== null) this.cluster.abort(this.decodeIndex, this.decode, nowMs);
    else if (this.prefill !== null) this.cluster.abort(this.prefillIndex, this.prefill, nowMs);
  }

  ended(reason: EndReason, nowMs: number): void {
    this.endReason = reason;
    this.endMs = nowMs;
    this.sink.end?.(this, nowMs);
  }
}
