// SPDX-License-Identifier: Apache-2.0
// Faults on demand: set from a test, over POST /debug/faults, or by one request's `x-mock-fault` header.

/** What goes wrong. Absent or null fields go right. */
export interface FaultPlan {
  /** Answer generation requests with this status. */
  status?: number | null;
  /** Wait before the response headers, wall milliseconds. */
  stall_ms?: number | null;
  /** Send this many tokens, then keep the stream open without another byte. */
  stall_after_tokens?: number | null;
  /** Send this many tokens, then reset the connection. */
  reset_after_tokens?: number | null;
  /** How many requests the fields above hit; absent: all. */
  requests?: number | null;
  /** /health answers 503. */
  health_fails?: boolean;
  /** /metrics answers 404. */
  metrics_absent?: boolean;
  /** The process exits, or the in-process server closes with all its connections. */
  die?: boolean;
}

export class Faults {
  private plan: FaultPlan = {};
  private left = Infinity;

  /** Replaces what was set before; `{}` heals. */
  set(plan: FaultPlan): void {
    this.plan = { ...plan };
    this.left = plan.requests ?? Infinity;
  }

  clear(): void {
    this.set({});
  }

  get healthFails(): boolean {
    return this.plan.health_fails ?? false;
  }

  get metricsAbsent(): boolean {
    return this.plan.metrics_absent ?? false;
  }

  /** The faults of one generation request. The header wins over what was set. */
  forRequest(header: string | undefined): FaultPlan {
    if (header !== undefined) return parseFaults(header);
    if (this.left <= 0) return {};
    this.left--;
    return this.plan;
  }
}

const HEADER_FIELDS: Record<string, keyof FaultPlan> = {
  status: "status",
  stall: "stall_ms",
  "stall-after": "stall_after_tokens",
  "reset-after": "reset_after_tokens",
};

/** `status=503`, `stall=500`, `stall-after=3`, `reset-after=3`, `die`; several are joined by `;`. */
function parseFaults(header: string): FaultPlan {
  const plan: Record<string, number | boolean> = {};
  for (const part of header.split(";")) {
    const [name = "", value = ""] = part.trim().split("=");
    const field = HEADER_FIELDS[name];
    if (field !== undefined) plan[field] = Number(value);
    else if (name === "die") plan["die"] = true;
  }
  return plan;
}
