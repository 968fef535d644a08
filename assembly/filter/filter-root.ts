// SPDX-License-Identifier: Apache-2.0
// One plugin configuration in one VM: what its streams share, and the tick that watches over held ones.
import { Mode, Options, PriorityScheme } from "../config/options";
import { readOptions } from "../config/reader";
import { hashName, hashText } from "../hash/text";
import { mix } from "../hash/mix";
import { readConfiguration } from "../host/bodies";
import { HeaderCursor, removeHeader } from "../host/headers";
import { Landing } from "../host/landing";
import { logError } from "../host/log";
import { propertyAddress, propertyPath, propertySize, readProperty } from "../host/properties";
import { randomBits } from "../host/random";
import { readShared, writeShared } from "../host/shared-data";
import { HeaderMapType } from "../host/status";
import { NS_PER_MS, nowNs, selectContext } from "../host/streams";
import { HostText } from "../host/text";
import { isDue } from "../memory/roster";
import { SharedStore } from "../memory/shared-store";
import { Meters } from "../metrics/meters";
import { Outcome } from "../metrics/outcome";
import { HeaderRules } from "../request/header-rules";
import { classifyPath, ExtraPaths, isScanned, PathKind } from "../request/paths";
import { RequestReader } from "../request/reader";
import { AnswerKind } from "../response/answer-kind";
import { Admitter } from "./admitter";
import { AnswerHead } from "./answer-head";
import { EnvoySharedStore } from "./envoy-shared-store";
import { EnvoyStatSink } from "./envoy-stats";
import { FilterStream } from "./filter-stream";
import { HeldStreams } from "./held-streams";
import { ListenerLimits } from "./listener-limits";
import { RequestHead } from "./request-head";
import { Router } from "./router";
import { StreamTable } from "./stream-table";
import { TickPace } from "./tick-pace";
import { Turnaround } from "./turnaround";

const PLUGIN_NAME = propertyPath("plugin_name");
const CODE_DETAILS = propertyPath("response.code_details");
const VIA_UPSTREAM = new HostText("via_upstream");
const SEED_KEY = new HostText("smetric.seed");
const SEED_BYTES: u32 = 8;

/** Longest configuration that lands without a heap block. */
const CONFIGURATION_BYTES: u32 = 16 * 1024;

/** The reader needs this many usable bytes around a window of body bytes. */
const WINDOW_MARGIN: u32 = 128;

/** A stall is measured well enough with a clock that ticks that often in it. */
const FINE_TICKS: i32 = 8;

/** Most readers and streams that are kept for the next request; more open streams simply allocate. */
const POOL_SIZE: i32 = 256;

/** Rounds of stripping: each takes a batch of forged headers, and Envoy allows 100 headers by default. */
const MAX_FORGED_ROUNDS: i32 = 64;

/** What the streams of one plugin configuration share. */
@final
export class FilterRoot {
  /** Open streams of all roots of this VM, by context id. */
  static readonly streams: StreamTable = new StreamTable();

  readonly held: HeldStreams = new HeldStreams();
  readonly head: RequestHead = new RequestHead();
  private readonly answerHead: AnswerHead = new AnswerHead();
  meters: Meters = new Meters(new EnvoyStatSink());
  limits: ListenerLimits = new ListenerLimits("", 0, 0, 0);
  window: Landing = new Landing(0);
  router: Router | null = null;
  private pace: TickPace | null = null;
  /** The stream whose own callback asks for room; others are let go from outside theirs. */
  deciding: FilterStream | null = null;

  /** Wall clock when it was last asked, ms: at most a tick ago while there are streams. */
  recentMs: u64 = 0;
  private options: Options = new Options();
  /** Seeds all hashes that leave this VM. */
  seed: u64 = 0;
  /** Which headers tell a session, a turn, a parent; in the order in which they are believed. */
  rules: HeaderRules = new HeaderRules([], "", "", "", "");
  private extraPaths: ExtraPaths = new ExtraPaths([]);
  /** What the path of the last request says; most requests have the same. */
  private judgedRoute: u64 = 0;
  private judgedPath: PathKind = PathKind.Unknown;
  private tenantHeader: HostText = new HostText("");
  private readonly headers: HeaderCursor = new HeaderCursor();
  private readonly store: SharedStore = new EnvoySharedStore();
  private readonly spareReaders: RequestReader[] = [];
  private readonly spareStreams: FilterStream[] = [];

  constructor(readonly contextId: u32) {}

  /** Reads the plugin configuration. False stops the load; the reason is in Envoy's log. */
  configure(size: u32): bool {
    const text = new Landing(CONFIGURATION_BYTES, WINDOW_MARGIN);
    if (size > 0 && !readConfiguration(text, size)) return false;
    const options = new Options();
    const message = readOptions(text.address, size > 0 ? <i32>text.size : 0, options);
    if (message.length > 0) {
      logError("configuration: " + message);
      return false;
    }
    this.options = options;
    this.seed = this.agreeOnSeed(options.hashSeed);
    this.rules = new HeaderRules(
      options.sessionHeaders,
      options.agentSessionHeader,
      options.agentTurnHeader,
      options.agentParentHeader,
      options.agentFinalHeader,
    );
    const guards = options.priorityScheme != PriorityScheme.None;
    this.head.priority = new HostText(guards ? options.priorityHeader : "");
    this.head.prefill = new HostText(options.prefillHeader);
    this.extraPaths = new ExtraPaths(options.extraPaths);
    this.judgedRoute = 0;
    this.tenantHeader = new HostText(options.tenantHeader);
    this.limits = new ListenerLimits(
      pluginName(),
      size > 0 ? hashText(text.address, <i32>text.size) : 0,
      <u32>options.holdCapBytes,
      <u64>options.holdStallMs,
    );
    this.window = new Landing(<u32>options.bodyWindowBytes, WINDOW_MARGIN);
    this.router = new Router(options, this.store, this.meters, vmId());
    this.nowMs();
    this.pace = new TickPace(<u32>options.tickMs);
    return true;
  }

  openStream(contextId: u32): void {
    const router = this.router;
    const pace = this.pace;
    if (router === null || pace === null) return;
    if (pace.enter()) this.nowMs();
    const spare = this.spareStreams;
    const stream = spare.length > 0 ? spare.pop() : new FilterStream(this, router);
    stream.open(contextId);
    FilterRoot.streams.add(contextId, stream);
  }

  closeStream(stream: FilterStream): void {
    stream.close();
    FilterRoot.streams.remove(stream.contextId);
    const pace = this.pace;
    if (pace !== null) pace.leave();
    if (this.spareStreams.length < POOL_SIZE) this.spareStreams.push(stream);
  }

  /** Releases what got no byte for `hold_stall_ms`, and takes over what other workers learned. */
  tick(): void {
    const router = this.router;
    const pace = this.pace;
    if (router === null || pace === null) return;
    const nowMs = this.nowMs();
    pace.judge(nowMs);
    this.limits.refresh(nowMs);
    router.tick(nowMs);
    const clusters = router.fleets.clusters;
    for (let i = 0; i < clusters.length; i++) {
      const admitter = clusters[i].admitter;
      if (admitter !== null && admitter.hasHeld) this.letGoOf(admitter, nowMs);
    }
    const patience = <u64>this.options.holdStallMs;
    for (let stream = this.held.first; stream !== null; stream = this.held.first) {
      if (!isDue(stream.lastByteMs, patience, nowMs)) return;
      stream.releaseStalled(nowMs);
    }
  }

  /**
   * Reads the request's headers into `head` and `turnaround`, and strips what only the filter may write.
   * Answers Conversation when the body is worth reading, else the outcome of a stream that passes.
   * @param bodiless no body follows
   */
  readHead(turnaround: Turnaround, bodiless: bool): Outcome {
    const router = this.router;
    if (router === null) return Outcome.Passed;
    this.walkHeaders(turnaround);
    const outcome = this.judgeHead(turnaround);
    if (router.observes) return outcome;
    const head = this.head;
    for (let round = 0; head.mayHaveMore && round < MAX_FORGED_ROUNDS; round++) {
      head.removeForged(false);
      this.walkHeaders(turnaround);
    }
    const decides = outcome == Outcome.Conversation && !bodiless && this.holds;
    turnaround.forged = head.removeForged(decides && router.overwrites);
    return outcome;
  }

  private judgeHead(turnaround: Turnaround): Outcome {
    const head = this.head;
    if (!head.isPost) return Outcome.Passed;
    const route = head.routeKey;
    if (route != this.judgedRoute) {
      this.judgedPath = this.judgePath();
      this.judgedRoute = route;
    }
    turnaround.route = route;
    turnaround.path = this.judgedPath;
    if (!isScanned(this.judgedPath)) return Outcome.Passed;
    return head.encoded ? Outcome.Encoded : Outcome.Conversation;
  }

  private judgePath(): PathKind {
    const head = this.head;
    const kind = classifyPath(head.pathAddress, <i32>head.pathSize);
    if (isScanned(kind)) return kind;
    const isExtra = this.extraPaths.matches(head.pathAddress, <i32>head.pathSize);
    return isExtra ? PathKind.Chat : kind; // A hint only: the body has the last word.
  }

  /** Strips from trailers what only the filter may write. */
  stripTrailers(map: HeaderMapType): void {
    const router = this.router;
    const trailers = this.headers;
    if (router === null || router.observes || !trailers.read(map)) return;
    while (trailers.next()) {
      if (!this.head.isOurs(trailers.nameAddress, trailers.nameSize)) continue;
      removeHeader(map, trailers.nameAddress, trailers.nameSize);
    }
  }

  /**
   * Reads the response headers: strips ours, notes who served, and tells the client when the operator wants that.
   * Answers how the body is to be read.
   */
  readAnswerHead(turnaround: Turnaround, decided: bool, nowMs: u64): AnswerKind {
    const router = this.router;
    if (router === null) return AnswerKind.Unknown;
    const head = this.answerHead;
    head.read(this.headers, !router.observes);
    if (!decided) return AnswerKind.Unknown;
    // A local reply carries the status of Envoy's own making, and after a failed connection even an address.
    const served = head.isSuccess && (head.isTimed || isViaUpstream());
    if (served) router.noteServed(turnaround, head.namesEndpoint, nowMs);
    if (router.exposesDecision) router.writeHeaders(HeaderMapType.Response, turnaround);
    return head.kind;
  }

  /** A reader that is ready for the body of this request. */
  takeReader(turnaround: Turnaround): RequestReader {
    const spare = this.spareReaders;
    const reader = spare.length > 0 ? spare.pop() : new RequestReader();
    reader.reset(turnaround.tenant, turnaround.path, this.options.skipBillingNonce);
    return reader;
  }

  giveReader(reader: RequestReader): void {
    if (this.spareReaders.length < POOL_SIZE) this.spareReaders.push(reader);
  }

  /** Lets requests go on that wait for the fleet of this one, as far as there is room now. */
  letGo(turnaround: Turnaround, nowMs: u64): void {
    const admitter = turnaround.admitter;
    if (admitter !== null && admitter.hasHeld) this.letGoOf(admitter, nowMs);
  }

  /** The configuration has gone, after its last stream: gives what was counted since the last tick. */
  drain(): void {
    const router = this.router;
    if (router !== null) router.tick(this.nowMs());
  }

  private letGoOf(admitter: Admitter, nowMs: u64): void {
    const router = this.router;
    const head = admitter.admission.held.first();
    if (router === null || head === null) return;
    const waiting = FilterRoot.streams.find(head.ticket);
    if (waiting === null) return;
    const fleet = waiting.turnaround.fleet;
    if (fleet === null) return;
    if (waiting !== this.deciding) router.load(waiting.turnaround, fleet, nowMs);
    let call = router.nextAdmitted(admitter, nowMs);
    for (; call !== null; call = router.nextAdmitted(admitter, nowMs)) {
      this.resume(call.ticket, nowMs);
    }
  }

  private resume(ticket: u32, nowMs: u64): void {
    const stream = FilterRoot.streams.find(ticket);
    if (stream !== null) stream.goOn(nowMs);
    const deciding = this.deciding;
    if (deciding !== null && deciding !== stream) selectContext(deciding.contextId);
  }

  /** Whether headers are held until the body is read. */
  get holds(): bool {
    return this.wantsHold && !this.limits.holdUnsupported;
  }

  /** Holding is given up, and this stream is held to see whether it works by now. */
  triesHold(): bool {
    const limits = this.limits;
    return limits.holdUnsupported && this.wantsHold && limits.claimHold(this.recentMs);
  }

  private get wantsHold(): bool {
    const router = this.router;
    if (router === null || this.options.mode == Mode.Observe) return false;
    return router.steering.needsHold;
  }

  private walkHeaders(turnaround: Turnaround): void {
    const head = this.head;
    const headers = this.headers;
    const rules = this.rules;
    const identity = turnaround.request.identity;
    head.reset();
    identity.reset();
    turnaround.tenant = 0;
    if (!headers.read(HeaderMapType.Request)) return;
    while (headers.next()) {
      head.note(headers);
      identity.header(
        rules,
        headers.nameAddress,
        <i32>headers.nameSize,
        headers.valueAddress,
        <i32>headers.valueSize,
      );
      if (this.tenantHeader.equals(headers.nameAddress, headers.nameSize)) {
        // All values count: who adds a second one is somebody else, and shares nothing with the first.
        const value = hashText(headers.valueAddress, <i32>headers.valueSize);
        turnaround.tenant = mix(value ^ this.seed ^ turnaround.tenant);
      }
    }
    if (turnaround.tenant == 0) turnaround.tenant = this.seed;
  }

  /**
   * The seed of all hashes: the configured one, else one that the first VM of this Envoy draws and the others
   * take over. The first VM is configured before any worker is, so two cannot draw at once.
   */
  private agreeOnSeed(configured: string): u64 {
    if (configured.length > 0) return hashName(configured);
    const landing = new Landing(SEED_BYTES);
    const value = new StaticArray<u64>(1);
    value[0] = mix(randomBits(nowNs()));
    if (readShared(landing, SEED_KEY.address, SEED_KEY.size) == 0) {
      writeShared(SEED_KEY.address, SEED_KEY.size, changetype<usize>(value), SEED_BYTES, 0);
    }
    const known = readShared(landing, SEED_KEY.address, SEED_KEY.size) != 0;
    return known && landing.size == SEED_BYTES ? load<u64>(landing.address) : value[0];
  }

  /** Whether session and turn in the agent's headers are enough. */
  get trustsHeaders(): bool {
    return this.options.trustAgentHeaders;
  }

  /** Whether each stream leaves a record for the access log. */
  get records(): bool {
    return this.options.record;
  }

  /** Wall clock, ns since the epoch. */
  nowNs(): u64 {
    const timeNs = nowNs();
    this.recentMs = timeNs / NS_PER_MS;
    return timeNs;
  }

  /** Wall clock, ms since the epoch. */
  nowMs(): u64 {
    this.nowNs();
    return this.recentMs;
  }

  /** When headers began to be held: to the tick, where ticks are short against `hold_stall_ms`. */
  holdBeginMs(): u64 {
    const options = this.options;
    const isFine = options.tickMs * FINE_TICKS <= options.holdStallMs;
    return isFine && this.recentMs != 0 ? this.recentMs : this.nowMs();
  }
}

/** Tells the VMs of one Envoy apart, also after a reload; neither 0 nor all ones. */
function vmId(): u64 {
  const id = mix(randomBits(nowNs()));
  return id == 0 || id == ~(<u64>0) ? 1 : id;
}

/** The upstream itself answered, as Envoy says at the price of a look-up (0.8 us). */
function isViaUpstream(): bool {
  return readProperty(CODE_DETAILS) && VIA_UPSTREAM.equals(propertyAddress(), propertySize());
}

function pluginName(): string {
  if (!readProperty(PLUGIN_NAME)) return "";
  return String.UTF8.decodeUnsafe(propertyAddress(), propertySize());
}
