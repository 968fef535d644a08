// SPDX-License-Identifier: Apache-2.0
// Turns the recommended bootstrap into the one that a contract situation asks for.
import {
  connectionManagers,
  wasmPlugins,
  type Bootstrap,
  type ConnectionManager,
  type HttpFilter,
} from "../../../envoy/bootstrap.ts";
import type { Setup } from "./world.ts";

const TYPE = "type.googleapis.com/envoy.extensions";
const PIN_HEADER = "x-smetric-endpoint";
const MIB = 1024 * 1024;

const BUFFER: HttpFilter = {
  name: "buffer",
  typed_config: { "@type": `${TYPE}.filters.http.buffer.v3.Buffer`, max_request_bytes: 16 * MIB },
};

const MUTATION: HttpFilter = {
  name: "mutation",
  typed_config: {
    "@type": `${TYPE}.filters.http.header_mutation.v3.HeaderMutation`,
    mutations: {
      request_mutations: [
        {
          append: {
            header: { key: PIN_HEADER, value: "%FILTER_STATE(wasm.smetric_endpoint:PLAIN)%" },
            append_action: "OVERWRITE_IF_EXISTS_OR_ADD",
          },
        },
      ],
    },
  },
};

/** Applies a setup to the loaded `pin.yaml`. */
export function editBootstrap(
  bootstrap: Bootstrap,
  setup: Setup,
  addresses: readonly string[],
): void {
  for (const plugin of wasmPlugins(bootstrap)) {
    plugin.configuration.value = setup.probe;
    plugin["allow_on_headers_stop_iteration"] = setup.flag ?? true;
    plugin["failure_policy"] = (setup.failurePolicy ?? "fail_reload").toUpperCase();
  }
  for (const listener of bootstrap.static_resources.listeners) {
    listener["per_connection_buffer_limit_bytes"] = setup.connectionBytes ?? MIB;
  }
  for (const manager of connectionManagers(bootstrap)) editManager(manager, setup);
  editClusters(bootstrap, setup, addresses);
}

function editManager(manager: ConnectionManager, setup: Setup): void {
  manager["stream_idle_timeout"] = `${(setup.idleTimeoutMs ?? 300_000) / 1000}s`;
  manager["http2_protocol_options"] = {
    initial_stream_window_size: setup.http2WindowBytes ?? 16 * MIB,
    initial_connection_window_size: 64 * MIB,
  };
  manager["route_config"] = { virtual_hosts: [virtualHost(setup)] };
  const [wasm, pin, router] = manager.http_filters as [HttpFilter, HttpFilter, HttpFilter];
  const chains: Record<NonNullable<Setup["chain"]>, HttpFilter[]> = {
    pin: [wasm, pin, router],
    pin_buffered: [BUFFER, wasm, pin, router],
    filter_state: [wasm, BUFFER, MUTATION, pin, router],
    no_buffer: [wasm, MUTATION, pin, router],
    override_host: [wasm, router],
  };
  manager.http_filters = chains[setup.chain ?? "pin"];
}

function virtualHost(setup: Setup): object {
  const rest = routeTo("llm", setup);
  const routes = setup.splitByTurn
    ? [
        {
          match: {
            prefix: "/",
            headers: [{ name: "x-smetric-turn", string_match: { exact: "1" } }],
          },
          ...rest,
        },
        { match: { prefix: "/" }, ...routeTo("other", setup) },
      ]
    : [{ match: { prefix: "/" }, ...rest }];
  return { name: "llm", domains: ["*"], routes };
}

function routeTo(cluster: string, setup: Setup): object {
  const retry = {
    retry_on: "connect-failure,refused-stream,reset-before-request",
    num_retries: 2,
    retry_host_predicate: [
      {
        name: "envoy.retry_host_predicates.previous_hosts",
        typed_config: {
          "@type": `${TYPE}.retry.host.previous_hosts.v3.PreviousHostsPredicate`,
        },
      },
    ],
    host_selection_retry_max_attempts: 5,
  };
  const route = {
    cluster,
    timeout: `${(setup.routeTimeoutMs ?? 0) / 1000}s`,
    ...(setup.retries === false ? {} : { retry_policy: retry }),
  };
  const limit =
    setup.routeBodyBytes === undefined ? {} : { request_body_buffer_limit: setup.routeBodyBytes };
  return { route, ...limit };
}

function editClusters(bootstrap: Bootstrap, setup: Setup, addresses: readonly string[]): void {
  const cluster = bootstrap.static_resources.clusters[0]!;
  delete cluster["outlier_detection"];
  if (setup.healthChecks) {
    cluster["health_checks"] = [
      {
        timeout: "5s",
        interval: "0.1s",
        no_traffic_interval: "0.1s",
        // A bad status fails an endpoint at once; a busy machine's late answers must not.
        unhealthy_threshold: 100,
        healthy_threshold: 1,
        http_health_check: { path: "/health" },
      },
    ];
  } else delete cluster["health_checks"];
  if (setup.chain === "override_host") overrideHost(cluster);
  if (!setup.splitByTurn) return;
  const other = structuredClone(cluster);
  other.name = "other";
  other.load_assignment.cluster_name = "other";
  const half = addresses.length / 2;
  keep(cluster, 0, half);
  keep(other, half, addresses.length);
  bootstrap.static_resources.clusters.push(other);
}

type Cluster = Bootstrap["static_resources"]["clusters"][number];

function keep(cluster: Cluster, from: number, to: number): void {
  const locality = cluster.load_assignment.endpoints[0]!;
  locality.lb_endpoints = locality.lb_endpoints.slice(from, to);
}

function overrideHost(cluster: Cluster): void {
  const fallback = structuredClone(cluster.load_balancing_policy);
  const override = {
    typed_extension_config: {
      name: "envoy.load_balancing_policies.override_host",
      typed_config: {
        "@type": `${TYPE}.load_balancing_policies.override_host.v3.OverrideHost`,
        override_host_sources: [{ header: PIN_HEADER }],
        fallback_policy: fallback,
      },
    },
  };
  cluster.load_balancing_policy = { policies: [override] };
}
