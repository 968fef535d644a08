// SPDX-License-Identifier: Apache-2.0
// The endpoints of one cluster: who they are, what was sent to them, what their answers taught.
import { Request } from "../request/request";
import { Homes } from "./homes";
import { InFlight } from "./in-flight";
import { GaugeShares } from "./gauge-shares";
import { Learned } from "./learned";
import { Loads, MAX_CANDIDATES } from "./loads";
import { ModelTable } from "./model-table";
import { Proofs } from "./proofs";
import { ageMs, isDue, MAX_SLOTS, NO_SLOT, Roster } from "./roster";
import { ServedNotes } from "./served-notes";
import { GaugeKind, Gauges, SharedStore, Write, WRITE_ATTEMPTS } from "./shared-store";
import { NumbersTable, SLOTS_PER_VALUE } from "./slot-numbers";
import { tagOf } from "./tags";
import { Tellers } from "./tellers";

/** Candidates of a large fleet besides the homes. */
const SAMPLED: i32 = 8;
/** A request that has a home may see other workers' loads this old; where one without goes, they decide alone. */
const RECENT_LOAD_MS: u64 = 20;
/** An endpoint leaves after this many pins in a row that Envoy did not obey. */
const MAX_DISOBEYED: u8 = 3;
const SWEEP_MS: u64 = 1_000;

export class Fleet {
  /** Whose silence about cached tokens means that nothing was cached. */
  readonly tellers: Tellers = new Tellers();
  private roster: Roster;
  private numbers: NumbersTable;
  private models: ModelTable;
  private shares: GaugeShares;
  private notes: ServedNotes = new ServedNotes();
  private proofs: Proofs = new Proofs();
  private members: i32 = 0;
  private sweptMs: u64 = 0;

  /**
   * @param id unique to the cluster and short ASCII: it is part of the keys
   * @param vm random number of this VM, neither 0 nor all ones
   */
  constructor(
    store: SharedStore,
    private gauges: Gauges,
    id: string,
    vm: u64,
    private endpointTtlMs: u64,
  ) {
    const name = "f." + id;
    this.roster = new Roster(store, name, gauges);
    this.numbers = new NumbersTable(store, name);
    this.models = new ModelTable(store, name);
    this.shares = new GaugeShares(store, name, gauges, vm);
  }

  /** Notes `upstream.num_endpoints` as seen with a stream. */
  noteMembers(members: i32): void {
    this.members = members;
  }

  /** Slot of an endpoint, or NO_SLOT. */
  slotOf(address: usize, size: i32): i32 {
    return this.roster.find(address, size);
  }

  /** Slot of an endpoint that answered with 2xx; NO_SLOT where the fleet is full or the address is too long. */
  enroll(address: usize, size: i32, nowMs: u64): i32 {
    this.roster.refresh(nowMs);
    return this.roster.enroll(address, size, nowMs);
  }

  addressOf(slot: i32): usize {
    return this.roster.addressOf(slot);
  }

  /** 0 where the slot is free. */
  addressSizeOf(slot: i32): i32 {
    return this.roster.addressSizeOf(slot);
  }

  generationOf(slot: i32): u16 {
    return this.roster.generationOf(slot);
  }

  /** Slot of what a table remembers, or NO_SLOT where that endpoint left. */
  resolve(slot: i32, generation: u16, nowMs: u64): i32 {
    return this.roster.resolve(slot, generation, nowMs);
  }

  get knownCount(): i32 {
    return this.roster.known;
  }

  /** Fills the candidates of a pick: all endpoints up to 64, else the homes and a sample. */
  load(loads: Loads, request: Request, homes: Homes, nowMs: u64, chance: u64): void {
    this.roster.refresh(nowMs);
    const isFresh = homes.count == 0;
    if (isFresh) this.writeNotes(nowMs);
    loads.count = 0;
    loads.complete = this.roster.known > 0 && this.members <= this.roster.known;
    loads.missing = max(0, this.members - this.roster.known);
    loads.sampled = this.roster.known > MAX_CANDIDATES;
    if (loads.sampled) this.listSample(loads, homes, chance);
    else this.listAll(loads);
    this.fill(loads, request, isFresh ? 0 : RECENT_LOAD_MS, nowMs);
  }

  /** Counts a request that leaves for an endpoint; does nothing where it is not known yet. */
  send(flight: InFlight, slot: i32, uncachedTokens: u32, contextTokens: u32): void {
    if (slot < 0 || slot >= MAX_SLOTS || flight.slot != NO_SLOT) return;
    flight.slot = slot;
    flight.pendingTokens = <i64>uncachedTokens;
    flight.contextTokens = <i64>contextTokens;
    this.shares.add(slot, 1, flight.pendingTokens, flight.contextTokens);
  }

  /** Shows the other workers now what this one counts, and not with the next tick. */
  publish(nowMs: u64): void {
    this.shares.give(nowMs);
  }

  /** Requests in flight to an endpoint, of all workers. */
  inFlightOf(slot: i32, nowMs: u64): i32 {
    this.gauges.look(slot, RECENT_LOAD_MS, nowMs);
    return <i32>this.gauges.seen(GaugeKind.InFlight, slot);
  }

  /** The first byte came back: nothing of this request waits for prefill any more. */
  firstByte(flight: InFlight): void {
    if (flight.slot == NO_SLOT) return;
    this.shares.add(flight.slot, 0, -flight.pendingTokens, 0);
    flight.pendingTokens = 0;
  }

  /** Takes back all that the stream counts for. May be called again. */
  finish(flight: InFlight): void {
    if (flight.slot == NO_SLOT) return;
    this.shares.add(flight.slot, -1, -flight.pendingTokens, -flight.contextTokens);
    flight.slot = NO_SLOT;
    flight.pendingTokens = 0;
    flight.contextTokens = 0;
  }

  /** An endpoint answered with 2xx. `homes` is what `Affinity.find` said of the request. */
  served(request: Request, homes: Homes, slot: i32, nowMs: u64): void {
    const generation = this.generationOf(slot);
    if (generation == 0) return;
    const notes = this.notes;
    if (notes.isFull) this.writeNotes(nowMs);
    notes.add(slot, generation, request.promptTokens, headTag(request), nowMs);
    const former = latestHome(homes);
    if (former < 0) return;
    const formerSlot = homes.slots[former];
    const tokens = homes.prefixTokens[former];
    notes.release(formerSlot, this.generationOf(formerSlot), tokens, homes.servedMs[former]);
  }

  private writeNotes(nowMs: u64): void {
    if (this.notes.count > 0) this.notes.write(this.numbers, nowMs);
  }

  /** Envoy sent a pinned request elsewhere; after three in a row the endpoint leaves. */
  disobeyed(slot: i32, nowMs: u64): void {
    const generation = this.generationOf(slot);
    if (!this.roster.isUsed(slot)) return;
    this.writeNotes(nowMs);
    let count: u8 = 0;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.numbers.editFor(slot);
      const row = this.numbers.claim(slot, generation);
      count = row.disobeyed + 1;
      row.disobeyed = count;
      if (this.numbers.save(nowMs) != Write.Conflict) break;
    }
    if (count >= MAX_DISOBEYED) this.roster.leave(slot, generation, nowMs);
  }

  /** An answer reported about as many cached tokens as were believed since `believedMs`. */
  confirm(slot: i32, believedMs: u64, nowMs: u64): void {
    this.proofs.confirm(slot, believedMs, nowMs);
  }

  /**
   * An answer reported fewer cached tokens than believed since `believedMs`: what was idle for as long is evicted.
   * @returns false where others show that nothing was evicted: the session itself is never found
   */
  raiseHorizon(slot: i32, believedMs: u64, nowMs: u64): bool {
    const generation = this.generationOf(slot);
    if (!this.roster.isUsed(slot)) return true;
    const horizonMs = this.proofs.emptyBefore(slot, believedMs, nowMs);
    if (horizonMs == 0) return false;
    this.gauges.showEvicted(slot, ageMs(horizonMs, nowMs) / 1_000);
    this.writeNotes(nowMs);
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.numbers.editFor(slot);
      const row = this.numbers.claim(slot, generation);
      row.horizonMs = max(row.horizonMs, horizonMs);
      row.forgetHeads();
      if (this.numbers.save(nowMs) != Write.Conflict) break;
    }
    return true;
  }

  /** Fills `learned` with what answers of a model taught, as of a tenth of a second ago. */
  recall(learned: Learned, model: u64, nowMs: u64): void {
    this.models.recall(learned, model, nowMs);
  }

  /** Changes what this worker recalls of a model, until a lesson is saved; false where it recalls nothing. */
  anticipate(learned: Learned, model: u64): bool {
    return this.models.anticipate(learned, model);
  }

  /**
   * Opens a model's record for a change by all that the caller learned, and fills `learned` with it. A loop:
   * `for (attempts) { beginLesson; change learned; if (endLesson) break; }`
   */
  beginLesson(learned: Learned, model: u64): void {
    this.models.begin(learned, model);
  }

  /** Saves the record. False where another worker saved meanwhile: begin again. */
  endLesson(learned: Learned, model: u64, nowMs: u64): bool {
    return this.models.save(learned, model, nowMs) != Write.Conflict;
  }

  /** Shares what was counted since the last tick; endpoints leave that have not served for their time to live. */
  tick(nowMs: u64): void {
    this.shares.tick(nowMs);
    this.writeNotes(nowMs);
    if (!isDue(this.sweptMs, SWEEP_MS, nowMs)) return;
    this.sweptMs = nowMs;
    this.roster.refresh(nowMs);
    for (let first = 0; first < this.roster.end; first += SLOTS_PER_VALUE)
      this.expire(first, nowMs);
  }

  private expire(first: i32, nowMs: u64): void {
    this.numbers.openFor(first);
    const end = min(first + SLOTS_PER_VALUE, this.roster.end);
    for (let slot = first; slot < end; slot++) {
      if (!this.roster.isUsed(slot)) continue;
      const generation = this.roster.generationOf(slot);
      const row = this.numbers.peek(slot, generation);
      if (row == null) this.restart(slot, generation, nowMs);
      else if (ageMs(<u64>row.servedS * 1_000, nowMs) <= this.endpointTtlMs) continue;
      else this.roster.leave(slot, generation, nowMs);
      this.numbers.openFor(first);
    }
  }

  /** The numbers of an endpoint were lost: its time to live begins anew. */
  private restart(slot: i32, generation: u16, nowMs: u64): void {
    this.numbers.editFor(slot);
    this.numbers.claim(slot, generation).servedS = <u32>(nowMs / 1_000);
    this.numbers.save(nowMs);
  }

  private listAll(loads: Loads): void {
    const roster = this.roster;
    for (let slot = 0; slot < roster.end && loads.count < MAX_CANDIDATES; slot++) {
      if (roster.isUsed(slot)) this.add(loads, slot);
    }
  }

  /** The sample comes from one value of the numbers, drawn by chance: one read whatever the fleet's size. */
  private listSample(loads: Loads, homes: Homes, chance: u64): void {
    for (let i = 0; i < homes.count; i++) this.list(loads, homes.slots[i]);
    const end = this.roster.end;
    const start = <i32>(chance % <u64>end);
    const first = start - (start % SLOTS_PER_VALUE);
    const width = min(SLOTS_PER_VALUE, end - first);
    const wanted = loads.count + SAMPLED;
    let offset = start - first;
    for (let i = 0; i < width && loads.count < wanted; i++) {
      this.list(loads, first + offset);
      offset = (offset + 1) % width;
    }
  }

  private list(loads: Loads, slot: i32): void {
    if (!this.roster.isUsed(slot)) return;
    for (let i = 0; i < loads.count; i++) {
      if (loads.slots[i] == slot) return;
    }
    this.add(loads, slot);
  }

  private add(loads: Loads, slot: i32): void {
    const row = loads.count++;
    unchecked((loads.endpoints[row] = this.roster.hashOf(slot)));
    unchecked((loads.slots[row] = slot));
  }

  private fill(loads: Loads, request: Request, maxAgeMs: u64, nowMs: u64): void {
    const head = headTag(request);
    const numbers = this.numbers;
    const gauges = this.gauges;
    for (let i = 0; i < loads.count; i++) {
      const slot = unchecked(loads.slots[i]);
      if (i == 0 || !numbers.covers(slot)) numbers.openRecent(slot, nowMs);
      gauges.look(slot, maxAgeMs, nowMs);
      unchecked((loads.inFlight[i] = <i32>gauges.seen(GaugeKind.InFlight, slot)));
      unchecked((loads.pendingPrefill[i] = <f64>gauges.seen(GaugeKind.PendingPrefill, slot)));
      unchecked((loads.context[i] = <f64>gauges.seen(GaugeKind.Context, slot)));
      const row = numbers.peek(slot, this.roster.generationOf(slot));
      const committed = row == null ? 0 : row.committedTokens(nowMs);
      unchecked((loads.committed[i] = max(0, committed + this.notes.tokensAt(slot))));
      unchecked((loads.horizonMs[i] = row == null ? 0 : row.horizonMs));
      unchecked((loads.headServed[i] = row != null && head != 0 && row.hasHead(head)));
    }
  }
}

/** Tag of head and model; 0 where there is no head. */
function headTag(request: Request): u32 {
  return request.head == 0 ? 0 : tagOf(request.head ^ request.model);
}

/** The home that served last, or -1. */
function latestHome(homes: Homes): i32 {
  let latest = -1;
  for (let i = 0; i < homes.count; i++) {
    if (latest < 0 || homes.servedMs[i] > homes.servedMs[latest]) latest = i;
  }
  return latest;
}
