// SPDX-License-Identifier: Apache-2.0
// The check command: what we ship is clean, and every trap it promises to find is found.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parse, stringify } from "yaml";
import { checkText } from "../../cli/checking/documents.ts";
import { at, findNodes, isType, type Node, nodesAt } from "../../cli/checking/node.ts";
import { check } from "../../cli/commands/check.ts";
import { fromRoot } from "../../cli/paths.ts";

const readBootstrap = (name: string): string =>
  readFileSync(fromRoot("envoy", `${name}.yaml`), "utf8");

/** Findings of a shipped bootstrap after a change. */
function findingsAfter(name: string, change: (tree: Node) => void): string[] {
  const tree = parse(readBootstrap(name)) as Node;
  change(tree);
  return checkText(stringify(tree)).findings.map(
    ({ severity, message }) => `${severity}: ${message}`,
  );
}

/** The first object of a message type, or of a name. */
function find(tree: Node, wanted: (node: Node) => boolean): Node {
  const [found] = findNodes(tree, wanted);
  assert.ok(found, "the shipped bootstrap has changed its shape");
  return found;
}

const manager = (tree: Node): Node => find(tree, (node) => isType(node, "HttpConnectionManager"));
const plugin = (tree: Node): Node => find(tree, (node) => node["root_id"] === "smetric");
const session = (tree: Node): Node => find(tree, (node) => isType(node, "StatefulSession"));
const listener = (tree: Node): Node => find(tree, (node) => "filter_chains" in node);
const host = (tree: Node): Node => find(tree, (node) => "domains" in node);
const route = (tree: Node): Node => find(tree, (node) => "retry_policy" in node);
const cluster = (tree: Node): Node => find(tree, (node) => "load_assignment" in node);
const configure = (tree: Node, options: object): void => {
  plugin(tree)["configuration"] = {
    "@type": "type.googleapis.com/google.protobuf.StringValue",
    value: JSON.stringify(options),
  };
};

for (const name of ["pin", "pin-buffered", "override-host", "filter-state", "hash", "observe"]) {
  test(`the shipped bootstrap ${name} is clean`, () => {
    const { kind, findings } = checkText(readBootstrap(name));
    assert.equal(kind, "bootstrap");
    assert.deepEqual(findings, []);
  });
}

interface Trap {
  what: string;
  bootstrap?: string;
  change: (tree: Node) => void;
  says: RegExp;
}

const TRAPS: Trap[] = [
  {
    what: "a bootstrap without the filter",
    change: (tree) => {
      manager(tree)["http_filters"] = [];
    },
    says: /^error: no HTTP chain holds the filter/,
  },
  {
    what: "a missing header-stop flag",
    change: (tree) => delete plugin(tree)["allow_on_headers_stop_iteration"],
    says: /^error: allow_on_headers_stop_iteration is not set/,
  },
  {
    what: "an unset failure policy",
    change: (tree) => delete plugin(tree)["failure_policy"],
    says: /^warning: failure_policy is not FAIL_RELOAD/,
  },
  {
    what: "a filter that is gone after a trap",
    change: (tree) => {
      plugin(tree)["failure_policy"] = "FAIL_OPEN";
    },
    says: /^warning: failure_policy FAIL_OPEN/,
  },
  {
    what: "a failure policy that Envoy does not have",
    change: (tree) => {
      plugin(tree)["failure_policy"] = "FAIL_RELAOD";
    },
    says: /^error: failure_policy FAIL_RELAOD is not known to Envoy; UNSPECIFIED, FAIL_RELOAD, /,
  },
  {
    what: "a runtime that Envoy does not have",
    change: (tree) => {
      (plugin(tree)["vm_config"] as Node)["runtime"] = "envoy.wasm.runtime.v9";
    },
    says: /^error: runtime envoy\.wasm\.runtime\.v9 is not known to Envoy; /,
  },
  {
    what: "a session filter in front of the filter",
    change: (tree) => {
      const [first, second, ...rest] = nodesAt(manager(tree), "http_filters");
      manager(tree)["http_filters"] = [second, first, ...rest];
    },
    says: /^error: stateful_session stands before the filter/,
  },
  {
    what: "nobody who obeys the pin",
    change: (tree) => {
      const filters = nodesAt(manager(tree), "http_filters");
      manager(tree)["http_filters"] = filters.filter((filter) => filter["name"] !== "pin");
    },
    says: /^error: steering is pin, but no stateful_session filter obeys it/,
  },
  {
    what: "a session filter that reads another header",
    change: (tree) => {
      const state = at(session(tree), "session_state.typed_config") as Node;
      state["name"] = "x-pin";
    },
    says: /^error: stateful_session does not read the header x-smetric-endpoint/,
  },
  {
    what: "a strict session filter",
    change: (tree) => {
      session(tree)["strict"] = true;
    },
    says: /^error: stateful_session is strict/,
  },
  {
    what: "filter state that nobody reads",
    change: (tree) => configure(tree, { steering: "filter-state" }),
    says: /^error: steering is filter-state, but no header_mutation filter/,
  },
  {
    what: "filter state that is read before it is written",
    bootstrap: "filter-state",
    change: (tree) => {
      const filters = nodesAt(manager(tree), "http_filters");
      manager(tree)["http_filters"] = filters.filter(
        (filter) => !isType(filter["typed_config"], "Buffer"),
      );
    },
    says: /^error: steering is filter-state, but no buffer filter behind it holds the request/,
  },
  {
    what: "a session filter in front of the header that it reads",
    bootstrap: "filter-state",
    change: (tree) => {
      const [wasm, buffer, mutation, pin, ...rest] = nodesAt(manager(tree), "http_filters");
      manager(tree)["http_filters"] = [wasm, buffer, pin, mutation, ...rest];
    },
    says: /^error: stateful_session stands before header_mutation/,
  },
  {
    what: "an endpoint override that nobody reads",
    change: (tree) => configure(tree, { steering: "override-host" }),
    says: /^error: steering is override-host, but no override_host policy reads/,
  },
  {
    what: "hashing without the routes for it",
    change: (tree) => configure(tree, { steering: "hash" }),
    says: /^error: steering is hash, but no route splits on x-smetric-turn/,
  },
  {
    what: "a wrong option",
    change: (tree) => configure(tree, { tick_ms: 5 }),
    says: /^error: tick_ms: 5 is not allowed; an integer from 10 to 1000 is/,
  },
  {
    what: "admission without affinity",
    change: (tree) => configure(tree, { policy: "least-request", admission: { enabled: true } }),
    says: /^warning: admission with policy least-request/,
  },
  {
    what: "admission that cannot name an endpoint",
    change: (tree) => configure(tree, { steering: "hash", admission: { enabled: true } }),
    says: /^error: admission.enabled: true is not allowed with steering "hash"; with "pin", "override-host" or a dry_run it is/,
  },
  {
    what: "a listener buffer below the cap",
    change: (tree) => delete listener(tree)["per_connection_buffer_limit_bytes"],
    says: /^warning: per_connection_buffer_limit_bytes is 1048576 bytes, less than hold_cap_bytes/,
  },
  {
    what: "an HTTP/2 window below the cap",
    change: (tree) => {
      manager(tree)["http2_protocol_options"] = { initial_stream_window_size: 65536 };
    },
    says: /^warning: http2 initial_stream_window_size is 65536 bytes/,
  },
  {
    what: "a route buffer below the cap",
    change: (tree) => {
      host(tree)["request_body_buffer_limit"] = "65536";
    },
    says: /^warning: request_body_buffer_limit is 65536 bytes/,
  },
  {
    what: "the default route timeout",
    change: (tree) => delete (route(tree) as { timeout?: string }).timeout,
    says: /^warning: timeout is 15 s and cuts longer generations/,
  },
  {
    what: "the default idle timeout",
    change: (tree) => delete manager(tree)["stream_idle_timeout"],
    says: /^warning: stream_idle_timeout is not set/,
  },
  {
    what: "default circuit breakers",
    change: (tree) => delete cluster(tree)["circuit_breakers"],
    says: /^warning: circuit breaker max_requests is 1024/,
  },
  {
    what: "breakers that forget the retries",
    change: (tree) => {
      const [threshold] = nodesAt(cluster(tree), "circuit_breakers.thresholds");
      delete threshold?.["max_retries"];
    },
    says: /^warning: circuit breaker max_retries is 3/,
  },
  {
    what: "a missing retry predicate",
    change: (tree) => {
      route(tree)["retry_policy"] = { retry_on: "connect-failure" };
    },
    says: /^warning: retries lack the predicate previous_hosts/,
  },
  {
    what: "missing retries",
    change: (tree) => delete route(tree)["retry_policy"],
    says: /^warning: no retry_policy/,
  },
  {
    what: "health checks that sleep without traffic",
    change: (tree) => {
      cluster(tree)["health_checks"] = [{ interval: "2s", http_health_check: { path: "/health" } }];
    },
    says: /^warning: no_traffic_interval is not set/,
  },
  {
    what: "round robin",
    change: (tree) => delete cluster(tree)["load_balancing_policy"],
    says: /^warning: load balancing is round_robin/,
  },
  {
    what: "two choices in a small fleet",
    change: (tree) => {
      delete cluster(tree)["load_balancing_policy"];
      cluster(tree)["lb_policy"] = "LEAST_REQUEST";
    },
    says: /^warning: least_request looks at two random endpoints/,
  },
  {
    what: "two clusters over the same endpoints",
    change: (tree) => {
      const clusters = at(tree, "static_resources.clusters") as Node[];
      clusters.push({ ...cluster(tree), name: "twin" });
      const routes = at(host(tree), "routes") as Node[];
      routes.push({ match: { prefix: "/twin" }, route: { ...route(tree), cluster: "twin" } });
    },
    says: /^warning: two clusters have the same endpoints/,
  },
  {
    what: "least request that does not count waiting requests",
    change: (tree) => delete tree["layered_runtime"],
    says: /^warning: envoy\.reloadable_features\.least_request_lb_count_pending_requests is not on/,
  },
  {
    what: "a stats matcher that drops the counters",
    change: (tree) => {
      tree["stats_config"] = {
        stats_matcher: { exclusion_list: { patterns: [{ prefix: "wasmcustom." }] } },
      };
    },
    says: /^warning: the filter's counters .* are dropped/,
  },
  {
    what: "a stats matcher that does not include the counters",
    change: (tree) => {
      tree["stats_config"] = {
        stats_matcher: {
          inclusion_list: { patterns: [{ safe_regex: { regex: "cluster\\..*" } }] },
        },
      };
    },
    says: /^warning: the filter's counters .* are dropped/,
  },
];

for (const { what, bootstrap = "pin", change, says } of TRAPS) {
  test(`check finds ${what}`, () => {
    const findings = findingsAfter(bootstrap, change);
    assert.ok(
      findings.some((finding) => says.test(finding)),
      `found only: ${findings.join("; ") || "nothing"}`,
    );
  });
}

test("a buffer filter in front makes small limits harmless", () => {
  const findings = findingsAfter("pin", (tree) => {
    delete listener(tree)["per_connection_buffer_limit_bytes"];
    const buffer = {
      name: "buffer",
      typed_config: {
        "@type": "type.googleapis.com/envoy.extensions.filters.http.buffer.v3.Buffer",
      },
    };
    manager(tree)["http_filters"] = [buffer, ...nodesAt(manager(tree), "http_filters")];
  });
  assert.deepEqual(findings, []);
});

test("a configuration by itself is checked against the schema", () => {
  assert.deepEqual(checkText('{"mode":"observe"}'), { kind: "configuration", findings: [] });
  const { findings } = checkText('{"hold_cap":5,"mode":"on"}');
  assert.deepEqual(
    findings.map(({ message }) => message),
    [
      "hold_cap is not a known option; did you mean hold_cap_bytes?",
      'mode: "on" is not allowed; one of "observe", "route" is',
    ],
  );
});

test("the value of a secret is not repeated", () => {
  const { findings } = checkText(JSON.stringify({ hash_seed: "secret\u0000" }));
  assert.equal(findings.length, 1);
  assert.doesNotMatch(findings[0]?.message ?? "", /secret\\u0000|"secret/);
});

test("two filters in one chain are found", () => {
  const findings = findingsAfter("pin", (tree) => {
    const filters = nodesAt(manager(tree), "http_filters");
    manager(tree)["http_filters"] = [...filters.slice(0, 1), ...filters];
  });
  assert.deepEqual(findings, [
    "warning: the chain holds the filter 2 times: every request is counted and decided as often",
  ]);
});

for (const [what, text, says] of [
  ["a broken map", '{"mode":', /^cannot be read as YAML or JSON: .* at line 1, column 9$/],
  [
    "an unknown alias",
    "a: *nobody\n",
    /^cannot be read as YAML or JSON: Unresolved alias.*nobody$/,
  ],
  ["a compiled module", "\0asm\u0001\0", /^cannot be read as YAML or JSON: it is not text$/],
  ["an empty file", " \n", /^it is empty: /],
] as const) {
  test(`${what} is a finding in one line`, () => {
    const { findings } = checkText(text);
    assert.equal(findings.length, 1);
    assert.match(findings[0]?.message ?? "", says);
  });
}

test("check names each faulty file, goes on to the next, and calls only those ok that it has looked at", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "smetric-check-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "1.yaml"), "a: [\n");
  writeFileSync(join(folder, "2.yaml"), "apiVersion: v1\nkind: EnvoyFilterr\n");
  writeFileSync(join(folder, "3.yaml"), "mode: observe\n");
  const log = t.mock.method(console, "log", () => undefined);
  assert.throws(() => check([folder], {}), /^Failure: 1 errors, 0 warnings$/);
  const lines = log.mock.calls.map(({ arguments: [line] }) => String(line));
  assert.match(lines[0] ?? "", /1\.yaml: error: the file: cannot be read as YAML or JSON: /);
  assert.match(lines[1] ?? "", /2\.yaml: no rules for EnvoyFilterr$/);
  assert.match(lines[2] ?? "", /3\.yaml: ok \(configuration\)$/);
});

test("a long value is not repeated whole, and a wrong limit is told once", () => {
  const [finding] = checkText(`"${"x".repeat(5000)}"`).findings;
  assert.ok((finding?.message.length ?? 0) < 300);
  const findings = findingsAfter("pin", (tree) => configure(tree, { hold_cap_bytes: "big" }));
  assert.equal(findings.length, 1);
});
