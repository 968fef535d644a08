// SPDX-License-Identifier: Apache-2.0
// The bootstrap files as users deploy them: accepted by both releases, and with every known trap disarmed.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { buildFilter } from "../../cli/build.ts";
import { fromRoot } from "../../cli/paths.ts";
import {
  connectionManagers,
  loadBootstrap,
  wasmPlugins,
  type Bootstrap,
} from "../../envoy/bootstrap.ts";
import { ENVOY_VERSION, OLDER_ENVOY_VERSION } from "../../envoy/find-envoy.ts";
import { validateBootstrap } from "../../envoy/launcher.ts";

const NAMES = readdirSync(fromRoot("envoy"))
  .filter((file) => file.endsWith(".yaml"))
  .map((file) => file.replace(/\.yaml$/, ""));
const ENDPOINTS = ["127.0.0.1:8000", "127.0.0.1:8001"];
const EVERYTHING = 16_777_216;

interface Route {
  route: { timeout: string; retry_policy: { retry_host_predicate: { name: string }[] } };
}

interface RouteConfiguration {
  virtual_hosts: { routes: Route[] }[];
}

function routes(bootstrap: Bootstrap): Route[] {
  return connectionManagers(bootstrap)
    .map((manager) => manager["route_config"] as RouteConfiguration)
    .flatMap((table) => table.virtual_hosts)
    .flatMap((host) => host.routes);
}

for (const name of NAMES) {
  for (const version of [ENVOY_VERSION, OLDER_ENVOY_VERSION]) {
    test(`${name}.yaml is accepted by Envoy ${version}`, async () => {
      await validateBootstrap({
        bootstrap: name,
        endpoints: ENDPOINTS,
        version,
        wasm: await buildFilter(),
      });
    });
  }

  test(`${name}.yaml disarms the traps of long generations and busy fleets`, async () => {
    const wasm = await buildFilter();
    const bootstrap = loadBootstrap({ bootstrap: name, endpoints: ENDPOINTS, wasm });
    for (const manager of connectionManagers(bootstrap)) {
      assert.equal(manager["stream_idle_timeout"], "1800s");
      assert.deepEqual(manager["http_protocol_options"], { enable_trailers: true });
    }
    for (const { route } of routes(bootstrap)) {
      assert.equal(route.timeout, "0s");
      const [predicate] = route.retry_policy.retry_host_predicate;
      assert.equal(predicate?.name, "envoy.retry_host_predicates.previous_hosts");
    }
    for (const cluster of bootstrap.static_resources.clusters) {
      const [check] = cluster["health_checks"] as { no_traffic_interval: string }[];
      assert.equal(check?.no_traffic_interval, "2s");
      const { thresholds } = cluster["circuit_breakers"] as { thresholds: object[] };
      assert.ok(Object.values(thresholds[0] ?? {}).every((limit) => limit >= 1024));
      assert.match(JSON.stringify(cluster.load_balancing_policy), /FULL_SCAN|RingHash/);
    }
    for (const plugin of wasmPlugins(bootstrap)) {
      assert.equal(plugin["failure_policy"], "FAIL_RELOAD");
      const holds = name !== "filter-state" && name !== "observe";
      assert.equal(plugin["allow_on_headers_stop_iteration"], holds ? true : undefined);
    }
  });
}

for (const name of ["pin", "override-host", "hash"]) {
  test(`${name}.yaml raises every limit that bounds a held body`, async () => {
    const wasm = await buildFilter();
    const bootstrap = loadBootstrap({ bootstrap: name, endpoints: ENDPOINTS, wasm });
    for (const listener of bootstrap.static_resources.listeners) {
      assert.equal(listener["per_connection_buffer_limit_bytes"], EVERYTHING);
    }
    for (const manager of connectionManagers(bootstrap)) {
      const http2 = manager["http2_protocol_options"] as { initial_stream_window_size: number };
      assert.equal(http2.initial_stream_window_size, EVERYTHING);
      assert.match(JSON.stringify(manager["route_config"]), /"request_body_buffer_limit":16777216/);
    }
  });
}
