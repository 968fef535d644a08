// SPDX-License-Identifier: Apache-2.0
// The clusters that a worker routes to: a fleet for each, and its admission.
import { Options } from "../config/options";
import { hashText } from "../hash/text";
import { propertyAddress, propertyPath, propertySize, readProperty } from "../host/properties";
import { ClusterList } from "../memory/cluster-list";
import { Fleet } from "../memory/fleet";
import { MAX_SLOTS } from "../memory/roster";
import { SharedStore } from "../memory/shared-store";
import { Meters } from "../metrics/meters";
import { Admitter } from "./admitter";
import { EnvoyGauges } from "./envoy-gauges";

const CLUSTER_NAME = propertyPath("xds.cluster_name");

/** One cluster as this VM knows it. */
@final
export class RoutedCluster {
  constructor(
    readonly key: u64,
    readonly fleet: Fleet,
    /** Null where admission is off. */
    readonly admitter: Admitter | null,
  ) {}
}

/** Made on the first request of a cluster, or when another worker has met it. */
@final
export class Fleets {
  // A handful of clusters at most: a walk beats a map.
  readonly clusters: RoutedCluster[] = [];
  private readonly listed: ClusterList;

  constructor(
    private readonly options: Options,
    private readonly store: SharedStore,
    private readonly meters: Meters,
    private readonly vm: u64,
  ) {
    this.listed = new ClusterList(store);
  }

  /** The cluster that the route names now, or null where Envoy does not say. */
  ofRoute(): RoutedCluster | null {
    if (!readProperty(CLUSTER_NAME)) return null;
    return this.named(propertyAddress(), <i32>propertySize());
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
  }

  private named(address: usize, size: i32): RoutedCluster {
    const key = hashText(address, size);
    for (let i = 0; i < this.clusters.length; i++) {
      if (this.clusters[i].key == key) return this.clusters[i];
    }
    const name = String.UTF8.decodeUnsafe(address, <usize>size);
    this.listed.note(address, size);
    const cluster = this.make(key, name);
    this.clusters.push(cluster);
    return cluster;
  }

  private make(key: u64, name: string): RoutedCluster {
    const options = this.options;
    const id = key.toString(16);
    const gauges = new EnvoyGauges(name, MAX_SLOTS);
    const fleet = new Fleet(this.store, gauges, id, this.vm, <u64>options.endpointTtlMs);
    const admitter = options.admissionEnabled
      ? new Admitter(options, this.store, this.meters, name, id, this.vm)
      : null;
    return new RoutedCluster(key, fleet, admitter);
  }
}
