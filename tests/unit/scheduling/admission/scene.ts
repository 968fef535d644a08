// SPDX-License-Identifier: Apache-2.0
// What specs of admission share: a fleet, calls, answers as they ended.
import { Loads } from "../../../../assembly/memory/loads";
import { Admission } from "../../../../assembly/scheduling/admission/admission";
import { AdmissionCall } from "../../../../assembly/scheduling/admission/admission-call";
import { LocalEndpoints } from "../../../../assembly/scheduling/admission/endpoints";
import { Evidence } from "../../../../assembly/scheduling/admission/evidence";
import { AdmissionOptions } from "../../../../assembly/scheduling/admission/options";
import { StopClass } from "../../../../assembly/scheduling/admission/stop-class";
import { NO_ENDPOINT } from "../../../../assembly/scheduling/decision";

export const START_MS: u64 = 1_796_000_000_000;

export function fleet(endpoints: i32): Loads {
  const loads = new Loads();
  loads.count = endpoints;
  loads.complete = true;
  for (let i = 0; i < endpoints; i++) loads.slots[i] = i;
  return loads;
}

export function given(capacityTokens: f64): Admission {
  const options = new AdmissionOptions();
  options.capacityTokens = capacityTokens;
  return new Admission(options, new LocalEndpoints());
}

const evidence = new Evidence();

/** An answer as it ended. */
export function told(
  cachedTokens: f64,
  outputTokens: f64,
  stop: StopClass,
  ttftSeconds: f64 = 0.1,
): Evidence {
  evidence.cachedTokens = cachedTokens;
  evidence.outputTokens = outputTokens;
  evidence.stop = stop;
  evidence.ttftSeconds = ttftSeconds;
  evidence.uncachedSeconds = 1e-4;
  return evidence;
}

export function callOf(session: u64, promptTokens: f64, home: i32 = NO_ENDPOINT): AdmissionCall {
  const call = new AdmissionCall();
  call.session = session;
  call.promptTokens = promptTokens;
  call.home = home;
  if (home != NO_ENDPOINT) call.expectedTokens = promptTokens - 500;
  return call;
}

/** Sends a request and ends it with everything expected cached. */
export function run(admission: Admission, call: AdmissionCall, slot: i32, nowMs: u64): void {
  call.bornSeconds = <u32>(nowMs / 1000);
  admission.send(call, slot, 0, nowMs);
  admission.firstByte(call);
  admission.end(call, told(call.expectedTokens, 500, StopClass.Tool), nowMs);
}
