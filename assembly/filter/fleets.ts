// SPDX-License-Identifier: Apache-2.0
// The clusters that a worker routes to: a fleet for each, and its admission.
import { Options } from "../config/options";
import { hashName, hashText } from "../hash/text";
import { propertyAddress, propertyPath, propertySize, readProperty } from "../host/properties";
import { ClusterList } from "../memory/cluster-list";
import { Fleet } from "../memory/fleet";
import { isDue, MAX_SLOTS } from "../memory/roster";
import { SharedStore } from "../memory/shared-store";
import { Meters } from "../metrics/meters";
import { Admitter } from "./admitter";
import { EnvoyGauges } from "./envoy-gauges";
import { isDisaggregated } from "./steering/ways";

/** Name of the fleet of prefill endpoints in gauges. */
const PREFILL_FLEET: string = "prefill";

const CLUSTER_NAME = propertyPath("xds.cluster_name");

/** Endpoints come and go within seconds; asking for their number takes 0.8 us. */
const COUNT_MS: u64 = 20;
/** The gauge of held requests is this old at most. */
const HELD_MS: u64 = 200;

/** A route is asked for its cluster that often at least; each time takes 0.9 us. */
const ASK_MS: u64 = 20;

/** One cluster as this VM knows it. */
@final
export class RoutedCluster {
  private readonly isGiven: bool;
  private countedMs: u64 = 0;

  constructor(
    readonly key: u64,
    readonly fleet: Fleet,
    /** Null where admission is off. */
    readonly admitter: Admitter | null,
    /** How many endpoints the configuration gives; 0 = they are found by serving. */
    given: i32 = 0,
  ) {
    this.isGiven = given > 0;
    if (given > 0) fleet.noteMembers(given);
  }

  /** Whether Envoy is to be asked again how many endpoints there are; true once a period. */
  isCountDue(nowMs: u64): bool {
    if (this.isGiven || !isDue(this.countedMs, COUNT_MS, nowMs)) return false;
    this.countedMs = nowMs;
    return true;
  }
}

/** Made on the first request of a cluster, or when another worker has met it. */
@final
export class Fleets {
  // A handful of clusters at most: a walk beats a map.
  readonly clusters: RoutedCluster[] = [];
  /** The prefill endpoints of a disaggregated fleet; null where there are none. */
  prefill: RoutedCluster | null = null;
  private askedRoute: u64 = 0;
  private askedMs: u64 = 0;
  private readonly listed: ClusterList;
  private shownMs: u64 = 0;
  private readonly prefillAddresses: ArrayBuffer[] = [];

  constructor(
    private readonly options: Options,
    private readonly store: SharedStore,
    private readonly meters: Meters,
    private readonly vm: u64,
  ) {
    this.listed = new ClusterList(store);
    if (isDisaggregated(options)) this.givePrefill();
  }

  private givePrefill(): void {
    const options = this.options;
    for (let i = 0; i < options.prefillEndpoints.length; i++) {
      this.prefillAddresses.push(String.UTF8.encode(options.prefillEndpoints[i]));
    }
    const name = String.UTF8.encode(PREFILL_FLEET);
    const key = hashName(PREFILL_FLEET);
    const cluster = this.make(key, PREFILL_FLEET, this.prefillAddresses.length);
    this.clusters.push(cluster);
    this.listed.note(changetype<usize>(name), name.byteLength);
    this.prefill = cluster;
  }

  /**
   * The cluster that the route names now, or null where Envoy does not say. As long as there is only one, a request
   * of the same host and path as one that was asked about a moment ago has the same: that saves a look-up.
   */
  ofRoute(route: u64, nowMs: u64): RoutedCluster | null {
    const prefill = this.prefill;
    if (prefill !== null) {
      this.enrollGiven(prefill.fleet, nowMs);
      return prefill;
    }
    const isKnown = this.clusters.length == 1 && route == this.askedRoute;
    if (isKnown && !isDue(this.askedMs, ASK_MS, nowMs)) return this.clusters[0];
    if (!readProperty(CLUSTER_NAME)) return null;
    this.askedRoute = route;
    this.askedMs = nowMs;
    return this.named(propertyAddress(), <i32>propertySize());
  }

  /**
   * Whether the route of the stream at hand leads to this fleet: for an endpoint that it does not know. The request may
   * have been the first of another cluster, and taken for one of the only cluster that was known.
   */
  isRoutedTo(fleet: Fleet): bool {
    if (!readProperty(CLUSTER_NAME)) return true;
    return this.named(propertyAddress(), <i32>propertySize()).fleet === fleet;
  }

  /**
   * Lets endpoints leave that have not served for their time to live, and repairs gauges. A VM without traffic of
   * its own looks after the other workers' fleets too: it may be the only one left after a trap.
   */
  tick(nowMs: u64): void {
    if (this.listed.refresh(nowMs)) {
      for (let i = 0; i < this.listed.count; i++) {
        this.named(this.listed.nameOf(i), this.listed.nameSizeOf(i));
      }
    }
    for (let i = 0; i < this.clusters.length; i++) {
      const cluster = this.clusters[i];
      cluster.fleet.tick(nowMs);
      const admitter = cluster.admitter;
      if (admitter !== null) admitter.tick(nowMs);
    }
    if (this.options.admissionEnabled && isDue(this.shownMs, HELD_MS, nowMs)) this.showHeld(nowMs);
  }

  /** What waits in all workers is told by whoever lives, so that nothing of a trapped one stays. */
  private showHeld(nowMs: u64): void {
    this.shownMs = nowMs;
    let held: u64 = 0;
    for (let i = 0; i < this.clusters.length; i++) {
      const admitter = this.clusters[i].admitter;
      if (admitter !== null) held += admitter.admission.heldEverywhere(nowMs);
    }
    this.meters.showHeld(held);
  }

  /** Given endpoints need not serve first; each costs a comparison once it is known. */
  private enrollGiven(fleet: Fleet, nowMs: u64): void {
    if (fleet.knownCount >= this.prefillAddresses.length) return;
    for (let i = 0; i < this.prefillAddresses.length; i++) {
      const address = this.prefillAddresses[i];
      fleet.enroll(changetype<usize>(address), address.byteLength, nowMs);
    }
  }

  private named(address: usize, size: i32): RoutedCluster {
    const key = hashText(address, size);
    for (let i = 0; i < this.clusters.length; i++) {
      if (this.clusters[i].key == key) return this.clusters[i];
    }
    const name = String.UTF8.decodeUnsafe(address, <usize>size);
    this.listed.note(address, size);
    const cluster = this.make(key, name, 0);
    this.clusters.push(cluster);
    return cluster;
  }

  private make(key: u64, name: string, given: i32): RoutedCluster {
    const options = this.options;
    const id = key.toString(16);
    const gauges = new EnvoyGauges(name, MAX_SLOTS);
    const fleet = new Fleet(this.store, gauges, id, this.vm, <u64>options.endpointTtlMs);
    const admitter = options.admissionEnabled
      ? new Admitter(options, this.store, this.meters, fleet, name, id, this.vm)
      : null;
    return new RoutedCluster(key, fleet, admitter, given);
  }
}
