// SPDX-License-Identifier: Apache-2.0
// What a finished answer teaches: prices for the policies, and whether the prefix was still where it was believed.
import { Options } from "../config/options";
import { Affinity } from "../memory/affinity";
import { Fleet } from "../memory/fleet";
import { Learned } from "../memory/learned";
import { NO_SLOT } from "../memory/roster";
import { Counter, Meters } from "../metrics/meters";
import { Dialect } from "../request/request";
import { unscaledTokens } from "../request/token-scale";
import { NOT_TOLD, Outcome as Answer } from "../response/outcome";
import { returnedShare } from "../scheduling/routing/estimate";
import { isEvicted, Lesson, UNKNOWN } from "../scheduling/routing/priced-learner";
import { LessonQueue } from "./lesson-queue";
import { NS_PER_SECOND, Turnaround } from "./turnaround";

const LAST_DIALECT: u32 = Dialect.Completions;

/** One per plugin configuration and VM. */
@final
export class Teacher {
  private readonly lessons: LessonQueue = new LessonQueue();
  private readonly learned: Learned = new Learned();

  constructor(
    private readonly options: Options,
    private readonly affinity: Affinity,
    private readonly meters: Meters,
  ) {}

  /** Called once for each answer that came with 2xx, when its stream ends. */
  teach(turnaround: Turnaround, answer: Answer, nowNs: u64, nowMs: u64): void {
    const fleet = turnaround.fleet;
    const slot = turnaround.servedSlot;
    if (fleet === null || slot == NO_SLOT || !answer.firstByte) return;
    hear(turnaround, answer, fleet, slot);
    this.countColdness(turnaround, answer, slot);
    if (answer.opaque) return; // Neither numbers nor times.
    const lesson = this.lessons.next.lesson;
    fill(lesson, turnaround, answer, nowNs);
    this.learn(turnaround, answer, fleet, nowMs);
    this.countReport(turnaround.request.turn, answer);
    if (isEvicted(lesson)) this.forget(turnaround, fleet, slot, nowMs);
    else if (isMostlyCached(answer)) this.trust(turnaround, fleet, slot, nowMs);
  }

  /** Shares what was learned since the last time. */
  save(nowMs: u64): void {
    if (this.lessons.isEmpty) return;
    this.lessons.save(nowMs);
    const learned = this.learned;
    const decodeContext = learned.tpotSum / learned.decodedContextSum;
    this.meters.showPrices(
      learned.uncachedSeconds,
      learned.fetchedSeconds,
      decodeContext,
      learned.returnedShare,
    );
  }

  /** This worker knows at once what it shares with the next tick. */
  private learn(turnaround: Turnaround, answer: Answer, fleet: Fleet, nowMs: u64): void {
    const queued = this.lessons.next;
    const learned = this.learned;
    const request = turnaround.request;
    fleet.recall(learned, request.unsaltedModel, nowMs);
    queued.fleet = fleet;
    queued.model = request.unsaltedModel;
    queued.share = returnedShare(this.options.tier, learned);
    queued.estimatedTokens = unscaledTokens(request);
    queued.reportedTokens = <u32>max(0, answer.promptTokens);
    queued.promptBytes = request.promptBytes;
    queued.teach(learned);
    const anticipated = fleet.anticipate(learned, request.unsaltedModel);
    this.lessons.add(nowMs);
    if (!anticipated) this.lessons.save(nowMs);
  }

  /** Learned seconds of prefill per uncached token, of the model that was last taught. */
  get uncachedSeconds(): f64 {
    return this.learned.uncachedSeconds;
  }

  /** The endpoint had far less than believed: the entry is void, and so is what idles there for longer. */
  private forget(turnaround: Turnaround, fleet: Fleet, slot: i32, nowMs: u64): void {
    this.meters.count(Counter.HomesVoided);
    const evicted = fleet.raiseHorizon(slot, heldSince(turnaround, slot), nowMs);
    // An eviction befalls what idles longest: it says nothing of the session, whose next call finds its KV again.
    if (!evicted) this.affinity.judge(turnaround.homes, false);
  }

  /** The endpoint had what was believed, or a doubted session was found after all. */
  private trust(turnaround: Turnaround, fleet: Fleet, slot: i32, nowMs: u64): void {
    const heldMs = heldSince(turnaround, slot);
    if (heldMs == 0) return;
    this.affinity.judge(turnaround.homes, true);
    fleet.confirm(slot, heldMs, nowMs);
  }

  /** Engines that never tell cached tokens are no engines that cache nothing: they count in neither sum. */
  private countReport(turn: i32, answer: Answer): void {
    const cached = answer.knownCachedTokens;
    if (cached == NOT_TOLD || answer.promptTokens == NOT_TOLD) return;
    this.meters.countReport(turn, answer.promptTokens, cached);
  }

  /** What a follow-up cost that was served elsewhere than at its home: in observe mode, what it would be spared. */
  private countColdness(turnaround: Turnaround, answer: Answer, slot: i32): void {
    const homes = turnaround.homes;
    if (homes.count == 0 || homes.verifiedTurn <= 1 || homes.doubted || homes.headDiffers) return;
    if (homes.slots[0] == slot) return;
    const own = heldTokens(turnaround, slot);
    if (own == 0) this.meters.count(Counter.ColdFollowUps);
    const found = max(<i64>own, <i64>answer.cachedTokens);
    // The prefix is an estimate: where the engine counted the prompt, it cannot be longer.
    const prompt = answer.promptTokens > 0 ? <i64>answer.promptTokens : i64.MAX_VALUE;
    const lost = min(<i64>homes.prefixTokens[0], prompt) - found;
    if (lost > 0) this.meters.count(Counter.RecomputedTokens, lost);
  }
}

/**
 * What silence about cached tokens means. SGLang and older versions of vLLM leave the field out or null where nothing
 * was cached. But others never tell it, or not in every wire format, and the running totals of a stream lack it until
 * its last event. So silence is 0 only in an answer whose end was seen, of an endpoint that has told cached
 * tokens in this wire format.
 */
function hear(turnaround: Turnaround, answer: Answer, fleet: Fleet, slot: i32): void {
  const generation = fleet.generationOf(slot);
  const voice = voiceOf(turnaround);
  if (answer.cachedTokens != NOT_TOLD) fleet.tellers.note(slot, generation, voice);
  else if (answer.complete && answer.hasUsage) {
    answer.silenceMeansNone = fleet.tellers.has(slot, generation, voice);
  }
}

/** Number of the wire format. Of a request whose body was not read the path names it. */
function voiceOf(turnaround: Turnaround): u32 {
  const dialect = turnaround.request.dialect;
  return dialect != Dialect.None ? <u32>dialect : LAST_DIALECT + 1 + <u32>turnaround.path;
}

function fill(lesson: Lesson, turnaround: Turnaround, answer: Answer, nowNs: u64): void {
  const request = turnaround.request;
  const homes = turnaround.homes;
  const told = answer.promptTokens > 0;
  lesson.promptTokens = told ? <f64>answer.promptTokens : <f64>request.promptTokens;
  const cached = answer.knownCachedTokens;
  lesson.cachedTokens = cached == NOT_TOLD ? UNKNOWN : <f64>cached;
  lesson.estimatedTokens = <f64>request.promptTokens;
  lesson.outputTokens = answer.outputTokens == NOT_TOLD ? UNKNOWN : <f64>answer.outputTokens;
  lesson.headTokens = <f64>request.headTokens;
  lesson.heldTokens = <f64>heldTokens(turnaround, turnaround.servedSlot);
  lesson.seenTokens = <f64>homes.seenTokens;
  lesson.known = homes.count > 0;
  lesson.queuedTokens = turnaround.queuedTokens;
  lesson.decodedContextTokens = turnaround.contextTokens + <f64>request.promptTokens;
  lesson.ttftSeconds = turnaround.ttftSeconds;
  lesson.tpotSeconds = UNKNOWN;
  if (lesson.ttftSeconds < 0) return;
  const first = turnaround.firstTokenNs;
  if (answer.complete && answer.outputTokens > 1 && nowNs > first) {
    lesson.tpotSeconds = <f64>(nowNs - first) / NS_PER_SECOND / <f64>(answer.outputTokens - 1);
  }
}

/** Prefix tokens that were believed at an endpoint when the request was sent. */
function heldTokens(turnaround: Turnaround, slot: i32): u32 {
  const homes = turnaround.homes;
  // What two heads have in common depends on the order in which a template prints them: it disproves nothing.
  if (homes.headDiffers) return 0;
  for (let i = 0; i < homes.count; i++) {
    if (homes.slots[i] == slot) return homes.prefixTokens[i];
  }
  return 0;
}

function heldSince(turnaround: Turnaround, slot: i32): u64 {
  const homes = turnaround.homes;
  for (let i = 0; i < homes.count; i++) {
    if (homes.slots[i] == slot) return homes.servedMs[i];
  }
  return 0;
}

/** Less may be a head that many share, and proves nothing of the session. */
function isMostlyCached(answer: Answer): bool {
  return answer.cachedTokens > 0 && answer.cachedTokens >= answer.promptTokens / 2;
}
