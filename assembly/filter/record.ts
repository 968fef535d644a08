// SPDX-License-Identifier: Apache-2.0
// One record a request for the access log and for `inspect`: hashes and numbers as a JSON line, no text.
import { fold } from "../hash/mix";
import { noteGarbage } from "../host/garbage";
import { writeFilterState } from "../host/properties";
import { NS_PER_MS } from "../host/streams";
import { HostText } from "../host/text";
import { outcomeName, Outcome } from "../metrics/outcome";
import { reasonName } from "../metrics/reason";
import { dialectName, Request } from "../request/request";
import { HeaderRules } from "../request/header-rules";
import { sourceName } from "../request/identity";
import { NOT_TOLD, Outcome as Answer } from "../response/outcome";
import { Turnaround } from "./turnaround";

/** Filter state `wasm.smetric_record`: `%FILTER_STATE(wasm.smetric_record:PLAIN)%` in an access log. */
const STATE_NAME = new HostText("smetric_record");

/** Each of some thirty concatenations leaves the line so far behind, two bytes a character. */
const GARBAGE_PER_CHARACTER: u32 = 32;

/**
 * Writes the record of a finished stream into its filter state. Allocates one string: it is called once a request
 * and only when the option `record` is on.
 */
export function writeRecord(
  turnaround: Turnaround,
  outcome: Outcome,
  answer: Answer,
  rules: HeaderRules,
  seed: u64,
  timeNs: u64,
): void {
  const request = turnaround.request;
  const homes = turnaround.homes;
  const known = request.turn > 0;
  let line = '{"time_ms":' + (timeNs / NS_PER_MS).toString();
  line += ',"duration_ms":' + durationOf(turnaround, timeNs);
  line += ',"outcome":"' + outcomeName(outcome) + '"';
  line += ',"dialect":"' + dialectName(request.dialect) + '"';
  line += ',"turn":' + request.turn.toString();
  line += ',"verified_turn":' + (known ? homes.verifiedTurn : 0).toString();
  line += ',"last_model_end_byte":' + request.lastModelEndByte.toString();
  line += ',"prefix_bytes":' + (homes.count > 0 ? homes.seenBytes : 0).toString();
  line += ',"prefix_tokens":' + (homes.count > 0 ? homes.prefixTokens[0] : 0).toString();
  line += ',"prompt_tokens":' + request.promptTokens.toString();
  line += ',"reported_prompt_tokens":' + told(answer.promptTokens);
  line += ',"cached_tokens":' + told(answer.cachedTokens);
  line += ',"output_tokens":' + told(answer.outputTokens);
  line += ',"ttft_ms":' + ttftOf(turnaround);
  line += ',"session_key":"' + hex(turnaround.session) + '"';
  line += ',"session_source":"' + sourceName(request.sessionSource, rules) + '"';
  line += ',"decision":"' + reasonName(turnaround.decision.reason) + '"';
  line += ',"tenant":"' + hex(turnaround.tenant) + '"';
  line += ',"model":"' + hex(fold(request.model, seed)) + '"'; // It holds the cache salt, which nobody may guess.
  line += ',"head":"' + hex(request.head) + '"';
  line += ',"head_tokens":' + request.headTokens.toString();
  line += ',"boundaries":' + boundaryList(request);
  line += ',"pinned":' + turnaround.pinned.toString();
  line += ',"endpoint":' + endpointOf(turnaround) + "}";
  const bytes = String.UTF8.encode(line);
  noteGarbage(<u32>line.length * GARBAGE_PER_CHARACTER);
  writeFilterState(STATE_NAME, changetype<usize>(bytes), <u32>bytes.byteLength);
}

/** A count of the engine's `usage`, or null where it told none. */
function told(tokens: i32): string {
  return tokens == NOT_TOLD ? "null" : tokens.toString();
}

/** From the moment Envoy let the request go to the first token of a streamed answer. */
function ttftOf(turnaround: Turnaround): string {
  const seconds = turnaround.ttftSeconds;
  return seconds < 0 ? "null" : (<u64>(seconds * 1_000)).toString();
}

/** From the moment Envoy let the request go to the end of the stream; null where nothing was decided. */
function durationOf(turnaround: Turnaround, timeNs: u64): string {
  const sent = turnaround.sentNs;
  return sent == 0 ? "null" : ((timeNs - sent) / NS_PER_MS).toString();
}

function boundaryList(request: Request): string {
  let list = "[";
  for (let i = 0; i < request.boundaryCount; i++) {
    const boundary = request.boundaries[i];
    if (i > 0) list += ",";
    list += '{"hash":"' + hex(boundary.chain) + '","runs":' + boundary.runs.toString();
    list += ',"tokens":' + boundary.prefixTokens.toString() + "}";
  }
  return list + "]";
}

function endpointOf(turnaround: Turnaround): string {
  const fleet = turnaround.fleet;
  if (fleet === null) return "null";
  const size = fleet.addressSizeOf(turnaround.servedSlot);
  if (size == 0) return "null";
  return '"' + String.UTF8.decodeUnsafe(fleet.addressOf(turnaround.servedSlot), size) + '"';
}

function hex(value: u64): string {
  return value.toString(16).padStart(16, "0");
}
