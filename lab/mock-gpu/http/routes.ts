// SPDX-License-Identifier: Apache-2.0
// Which path is answered by whom.
import { chatCompletions } from "./chat-completions.ts";
import { completions } from "./completions.ts";
import { debugFaults, debugRequests } from "./debug.ts";
import { type Exchange, HttpError } from "./exchange.ts";
import { type Gpu } from "./gpu.ts";
import { countTokens, messages } from "./messages.ts";
import { metrics } from "./metrics.ts";
import { health, load, models, tokenizePrompt, version } from "./operations.ts";
import { generate } from "./sglang-generate.ts";
import { deleteResponse, getResponse, responses } from "./responses.ts";

export type Route = (gpu: Gpu, exchange: Exchange) => void | Promise<void>;

const ROUTES: Record<string, Route> = {
  "POST /v1/chat/completions": generation(chatCompletions),
  "POST /v1/completions": generation(completions),
  "POST /v1/responses": generation(responses),
  "POST /v1/messages": generation(messages),
  "POST /v1/messages/count_tokens": countTokens,
  "POST /generate": generation(generate),
  "GET /health_generate": health,
  "POST /tokenize": tokenizePrompt,
  "GET /load": load,
  "GET /version": version,
  "GET /ping": health,
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
  const { method } = exchange.request;
  const path = exchange.url.pathname;
  const route = ROUTES[`${method} ${path}`] ?? storedResponse(`${method} ${path}`);
  if (route === undefined) throw new HttpError(404, "Not Found");
  return route;
}

function storedResponse(target: string): Route | undefined {
  if (/^GET \/v1\/responses\/[^/]+$/.test(target)) return getResponse;
  return /^DELETE \/v1\/responses\/[^/]+$/.test(target) ? deleteResponse : undefined;
}

/** Counts what is under way, for `/load`. */
function generation(route: Route): Route {
  return (gpu, exchange) => {
    gpu.inFlight++;
    exchange.response.once("close", () => gpu.inFlight--);
    return route(gpu, exchange);
  };
}
