// SPDX-License-Identifier: Apache-2.0
// What stands behind an endpoint: one engine, or a prefill engine with a decode pool behind it.
import { type Cluster } from "../engine/cluster.ts";
import { type Disaggregation, PairedRequest } from "../engine/disaggregation.ts";
import { type Engine } from "../engine/engine.ts";
import { EngineRequest, type RequestInit, type ServedRequest } from "../engine/request.ts";

export interface Backend {
  /** The engine that computes the prompts of this endpoint. */
  readonly engine: Engine;
  submit(init: RequestInit, nowMs: number): ServedRequest;
  abort(request: ServedRequest, nowMs: number): void;
}

/** Engine `index` of a cluster. */
export function engineBackend(cluster: Cluster, index: number): Backend {
  return {
    engine: cluster.engine(index),
    submit: (init, nowMs) => cluster.submit(index, init, nowMs),
    abort: (request, nowMs) => {
      if (request instanceof EngineRequest) cluster.abort(index, request, nowMs);
    },
  };
}

/** Prefill engine `index` of a disaggregated fleet. */
export function prefillBackend(cluster: Cluster, fleet: Disaggregation, index: number): Backend {
  return {
    engine: cluster.engine(index),
    submit: (init, nowMs) => fleet.submit(index, init, nowMs),
    abort: (request, nowMs) => {
      if (request instanceof PairedRequest) request.abort(nowMs);
    },
  };
}
