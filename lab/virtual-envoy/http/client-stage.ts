// SPDX-License-Identifier: Apache-2.0
// The codec towards the client: the last stage of the response direction.
import { DataStatus, HeadersStatus, TrailersStatus } from "../wasm/abi.ts";
import type { DownstreamResponse } from "./observation.ts";
import type { Stage } from "./pipeline.ts";

/** Writes what passes into `response`; `done` runs at its end. */
export function clientStage(
  response: DownstreamResponse,
  keepBodies: boolean,
  done: () => void,
): Stage {
  return {
    headers(headers, end) {
      response.begin(headers);
      if (end) done();
      return HeadersStatus.Continue;
    },
    data(data, end) {
      response.receive(data.take(), keepBodies);
      if (end) done();
      return DataStatus.Continue;
    },
    trailers(trailers) {
      response.trailers = trailers;
      done();
      return TrailersStatus.Continue;
    },
  };
}
