// SPDX-License-Identifier: Apache-2.0
// The recorder and the faults over HTTP, for drivers in other processes.
import { type Exchange } from "./exchange.ts";
import { type FaultPlan } from "./faults.ts";
import { type Gpu } from "./gpu.ts";

/** GET: records with a serial of at least `?since=`; DELETE: forgets them. */
export function debugRequests(gpu: Gpu, exchange: Exchange): void {
  const since = Number(exchange.url.searchParams.get("since") ?? 0);
  const requests = gpu.recorder.requests.filter(({ serial }) => serial >= since);
  if (exchange.request.method === "DELETE") gpu.recorder.clear();
  exchange.sendJson(200, { endpoint: gpu.name, total: gpu.recorder.total, requests });
}

/** POST: a FaultPlan that replaces the one before; GET: whether health fails. */
export function debugFaults(gpu: Gpu, exchange: Exchange): void {
  if (exchange.request.method === "POST") {
    const plan = exchange.json() as FaultPlan;
    if (plan.die === true) {
      gpu.onDie();
      return;
    }
    gpu.faults.set(plan);
  }
  exchange.sendJson(200, {
    health_fails: gpu.faults.healthFails,
    metrics_absent: gpu.faults.metricsAbsent,
  });
}
