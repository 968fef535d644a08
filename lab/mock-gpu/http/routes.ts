// SPDX-License-Identifier: Apache-2.0
// Which path is answered by whom.
import { chatCompletions } from "./chat-completions.ts";
import { debugFaults, debugRequests } from "./debug.ts";
import { type Exchange, HttpError } from "./exchange.ts";
import { type Gpu } from "./gpu.ts";
import { health, models } from "./operations.ts";
import { metrics } from "./metrics.ts";

export type Route = (gpu: Gpu, exchange: Exchange) => void | Promise<void>;

const ROUTES: Record<string, Route> = {
  "POST /v1/chat/completions": generation(chatCompletions),
  "GET /health": health,
  "GET /metrics": metrics,
  "GET /v1/models": models,
  "GET /debug/requests": debugRequests,
  "DELETE /debug/requests": debugRequests,
  "GET /debug/faults": debugFaults,
  "POST /debug/faults": debugFaults,
};

/** The handler of a request. @throws HttpError 404 */
export function findRoute(exchange: Exchange): Route {
  const route = ROUTES[`${exchange.request.method} ${exchange.url.pathname}`];
  if (route === undefined) throw new HttpError(404, "Not Found");
  return route;
}

/** Counts what is under way, for `/load`. */
function generation(route: Route): Route {
  return (gpu, exchange) => {
    gpu.inFlight++;
    exchange.response.once("close", () => gpu.inFlight--);
    return route(gpu, exchange);
  };
}
