// SPDX-License-Identifier: Apache-2.0
// The inspect command: what the compiled filter makes of request bodies, in order, as one gateway sees them.
import { readFileSync } from "node:fs";
import { VirtualEnvoy, type Stream } from "../../lab/virtual-envoy/index.ts";
import { buildFilter } from "../build.ts";
import { Failure } from "../failure.ts";

export interface InspectOptions {
  path: string;
  header: string[];
  /** File with a plugin configuration. */
  config?: string;
}

/** One output line. */
interface Inspection {
  dialect: string;
  turn: number;
  verified_turn: number;
  last_model_end_byte: number;
  prefix_bytes: number;
  prefix_tokens: number;
  session_key: string | null;
  session_source: string;
  decision: string;
  outcome: string;
}

const ENDPOINTS = ["10.0.0.1:8000", "10.0.0.2:8000", "10.0.0.3:8000", "10.0.0.4:8000"];
const RECORD_KEY = "wasm.smetric_record";
const OUTCOME_PREFIX = "smetric_streams.outcome.";

/** Envoy's limits are out of the way: what the filter itself refuses to hold is what counts here. */
const UNLIMITED_BYTES = 1 << 30;

const MS_BETWEEN_REQUESTS = 1000;

/** A header's name as HTTP defines it, with a colon in front for those that Envoy makes of the request line. */
const HEADER_NAME = /^:?[!#$%&'*+.^_`|~0-9a-z-]+$/i;
/** Line ends and NUL, which no value may hold. */
const ILLEGAL_IN_VALUE = /[\r\n\0]/;

function readBody(file: string): Uint8Array {
  try {
    return readFileSync(file === "-" ? 0 : file);
  } catch (fault) {
    throw new Failure(`${file} cannot be read: ${fault instanceof Error ? fault.message : ""}`);
  }
}

function parseHeaders(lines: readonly string[]): [string, string][] {
  return lines.map((line) => {
    const colon = line.indexOf(":", 1);
    if (colon < 1) throw new Failure(`--header ${line}: write it as name:value`);
    const name = line.slice(0, colon).trim();
    const value = line.slice(colon + 1).trim();
    if (!HEADER_NAME.test(name)) throw new Failure(`--header ${line}: "${name}" is no header name`);
    if (ILLEGAL_IN_VALUE.test(value)) {
      throw new Failure(`--header ${name}: a value of one line is needed`);
    }
    return [name, value];
  });
}

function readConfiguration(file: string | undefined): object {
  if (file === undefined) return {};
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, "utf8"));
  } catch (fault) {
    throw new Failure(`${file}: ${fault instanceof Error ? fault.message : String(fault)}`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new Failure(`${file}: a configuration is a JSON object`);
}

/** The one outcome that grew: every stream ends in exactly one. */
function outcomeSince(before: Record<string, number>, after: Record<string, number>): string {
  for (const [name, value] of Object.entries(after)) {
    if (name.startsWith(OUTCOME_PREFIX) && value > (before[name] ?? 0)) {
      return name.slice(OUTCOME_PREFIX.length);
    }
  }
  return "none";
}

/** What the filter recorded; what it passes untouched has no record. */
function inspection(stream: Stream, outcome: string): Inspection {
  const text = stream.info.filterState.get(RECORD_KEY);
  const record = (
    text === undefined ? {} : JSON.parse(Buffer.from(text).toString("utf8"))
  ) as Partial<Inspection>;
  const key = record.session_key ?? "";
  return {
    dialect: record.dialect ?? "none",
    turn: record.turn ?? 0,
    verified_turn: record.verified_turn ?? 0,
    last_model_end_byte: record.last_model_end_byte ?? -1,
    prefix_bytes: record.prefix_bytes ?? 0,
    prefix_tokens: record.prefix_tokens ?? 0,
    session_key: /^0*$/.test(key) ? null : key,
    session_source: record.session_source ?? "none",
    decision: record.decision ?? "none",
    outcome: record.outcome ?? outcome,
  };
}

/**
 * Sends each file through the filter and prints one JSON line for it.
 * @param files request bodies in the order in which the gateway sees them; `-` is stdin
 * @throws Failure when a file, a header or the configuration is unusable
 */
export async function inspect(files: string[], options: InspectOptions): Promise<void> {
  if (files.filter((file) => file === "-").length > 1) {
    throw new Failure("-: stdin can be read only once");
  }
  const headers = parseHeaders(options.header);
  const configuration = { ...readConfiguration(options.config), record: true };
  const bodies = files.map(readBody);
  const wasm = await buildFilter("release");
  const envoy = startEnvoy(wasm, configuration);
  for (const body of bodies) {
    const before = envoy.metrics.snapshot();
    const stream = envoy.send({
      path: options.path,
      method: "POST",
      headers: [["content-type", "application/json"], ...headers],
      body,
      response: { headers: { "content-type": "application/json" }, chunks: ["{}"] },
    });
    envoy.tick(MS_BETWEEN_REQUESTS); // The filter counts with its tick.
    const outcome = outcomeSince(before, envoy.metrics.snapshot());
    console.log(JSON.stringify(inspection(stream, outcome)));
  }
  envoy.close();
}

function startEnvoy(wasm: string, configuration: object): VirtualEnvoy {
  const limits = { connectionBytes: UNLIMITED_BYTES, http2WindowBytes: UNLIMITED_BYTES };
  try {
    return new VirtualEnvoy({ wasm, configuration, endpoints: ENDPOINTS, limits, trace: false });
  } catch (fault) {
    throw new Failure(fault instanceof Error ? fault.message : String(fault));
  }
}
