// SPDX-License-Identifier: Apache-2.0
// Program-level priority: one integer in the header that the engine understands, on every engine request.
import { Options, PriorityOrder, ProgramScope, prioritySchemeName } from "../config/options";
import { replaceHeader } from "../host/headers";
import { HeaderMapType } from "../host/status";
import { HostText } from "../host/text";
import { Learned } from "../memory/learned";
import { Program } from "../memory/program";
import { Programs } from "../memory/programs";
import { NO_SLOT } from "../memory/roster";
import { SharedStore, WRITE_ATTEMPTS } from "../memory/shared-store";
import { FinishReason, NOT_TOLD, Outcome as Answer } from "../response/outcome";
import { Call, enginePriority, PrioritySign, Scheme } from "../scheduling/priority/scheme";
import { schemeNamed } from "../scheduling/priority/schemes";
import { Turnaround } from "./turnaround";
import { VALUE, writeSigned } from "./value-text";

/** The priority of a configuration, or null where none is declared: an engine without it refuses the header. */
export function prioritizerOf(options: Options, store: SharedStore): Prioritizer | null {
  const scheme = schemeNamed(prioritySchemeName(options.priorityScheme));
  return scheme === null ? null : new Prioritizer(options, scheme, store);
}


@final
export class Prioritizer {
  private readonly header: HostText;
  private readonly sign: PrioritySign;
  private readonly families: bool;
  private readonly programs: Programs;
  private readonly program: Program = new Program();
  private readonly stranger: Program = new Program();
  private readonly call: Call = new Call();

  constructor(
    options: Options,
    private readonly scheme: Scheme,
    store: SharedStore,
  ) {
    this.header = new HostText(options.priorityHeader);
    const highFirst = options.priorityOrder == PriorityOrder.HighFirst;
    this.sign = highFirst ? PrioritySign.HighFirst : PrioritySign.LowFirst;
    this.families = options.priorityProgramScope == ProgramScope.Family;
    this.programs = new Programs(store, options.affinitySessions);
  }

  /** Ranks a request and writes its priority; a client's own value is replaced. */
  send(turnaround: Turnaround, learned: Learned, nowMs: u64): void {
    const key = this.keyOf(turnaround);
    const program = this.program;
    this.start(program, key, turnaround, nowMs);
    const call = this.call;
    call.nowMs = nowMs;
    call.uncachedTokens = <f64>turnaround.decision.uncachedTokens;
    turnaround.program = key;
    turnaround.inheritedSeconds = program.pathSeconds;
    const rank = this.scheme.rank(program, call, learned);
    const size = writeSigned(enginePriority(rank, this.sign));
    replaceHeader(HeaderMapType.Request, this.header, VALUE, size);
  }

  /** Takes a finished call into its program's record. */
  finish(turnaround: Turnaround, answer: Answer, learned: Learned, nowMs: u64): void {
    const key = turnaround.program;
    if (key == 0) return;
    turnaround.program = 0;
    this.describe(turnaround, answer, learned);
    const program = this.program;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.programs.begin(program, key);
      if (answer.firstByte) this.scheme.finish(program, this.call, learned);
      program.noteEnd(this.call.endedInTool, nowMs);
      if (this.programs.save(program, key)) return;
    }
  }

  private start(program: Program, key: u64, turnaround: Turnaround, nowMs: u64): void {
    if (key == 0) {
      program.copyFrom(this.stranger); // Nobody's request: ranked as a program that has just begun.
      program.arrivalMs = nowMs;
      return;
    }
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.programs.begin(program, key);
      program.noteStart(turnaround.request.identity.parent, nowMs);
      if (this.programs.save(program, key)) return;
    }
  }

  private describe(turnaround: Turnaround, answer: Answer, learned: Learned): void {
    const call = this.call;
    const cached = answer.knownCachedTokens;
    const told = answer.promptTokens > 0 && cached != NOT_TOLD;
    const uncached = told
      ? max(0, answer.promptTokens - cached)
      : <i32>turnaround.decision.uncachedTokens;
    call.uncachedTokens = <f64>uncached;
    call.outputTokens = outputTokensOf(turnaround, answer, learned);
    call.endedInTool = answer.finishReason == FinishReason.ToolUse;
    call.inheritedSeconds = turnaround.inheritedSeconds;
    // A first token that was not seen (-1) leaves no wait.
    const prefillSeconds = learned.uncachedSeconds * call.uncachedTokens;
    call.waitSeconds = max(0, turnaround.ttftSeconds - prefillSeconds);
  }

  /** A program is a session, or a session with all its children. */
  private keyOf(turnaround: Turnaround): u64 {
    const request = turnaround.request;
    if (this.families && request.program != 0) return request.program;
    return request.session != 0 ? request.session : turnaround.session;
  }
}

/**
 * Tokens of an answer as told. One that tells none, whole or of bytes that cannot be read, had the mean length: else
 * a program of such answers would never have had any service. Nobody knows how much was decoded of one that was cut,
 * and what no endpoint answered was not decoded at all.
 */
function outputTokensOf(turnaround: Turnaround, answer: Answer, learned: Learned): f64 {
  if (answer.outputTokens != NOT_TOLD) return <f64>answer.outputTokens;
  const served = turnaround.servedSlot != NO_SLOT && (answer.complete || answer.opaque);
  return served ? learned.outputTokens : 0;
}
