// SPDX-License-Identifier: Apache-2.0
// The check command on Kubernetes manifests: every trap of Istio's and Envoy Gateway's objects is found.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parse, stringify } from "yaml";
import { checkText } from "../../cli/checking/documents.ts";
import { fromRoot } from "../../cli/paths.ts";

interface ManifestTrap {
  what: string;
  manifest: object;
  says: RegExp;
}

const MANIFEST_TRAPS: ManifestTrap[] = [
  {
    what: "a wrong option in a WasmPlugin",
    manifest: { kind: "WasmPlugin", spec: { pluginConfig: { mode: "observing" } } },
    says: /^mode: "observing" is not allowed/,
  },
  {
    what: "a WasmPlugin that is to route",
    manifest: { kind: "WasmPlugin", spec: { failStrategy: "FAIL_OPEN", pluginConfig: {} } },
    says: /^a WasmPlugin cannot set allow_on_headers_stop_iteration/,
  },
  {
    what: "a WasmPlugin that fails closed",
    manifest: { kind: "WasmPlugin", spec: { pluginConfig: { mode: "observe" } } },
    says: /^failStrategy is FAIL_CLOSE/,
  },
  {
    what: "an EnvoyExtensionPolicy that nothing patches",
    manifest: { kind: "EnvoyExtensionPolicy", spec: { wasm: [{ name: "smetric" }] } },
    says: /^no EnvoyPatchPolicy in this file sets/,
  },
  {
    what: "an observing EnvoyExtensionPolicy that fails closed",
    manifest: {
      kind: "EnvoyExtensionPolicy",
      spec: { wasm: [{ name: "smetric", config: { mode: "observe" } }] },
    },
    says: /^failOpen is not set/,
  },
  {
    what: "an EnvoyFilter without the header-stop flag",
    manifest: {
      kind: "EnvoyFilter",
      spec: { value: { root_id: "smetric", failure_policy: "FAIL_RELOAD", vm_config: {} } },
    },
    says: /^allow_on_headers_stop_iteration is not set/,
  },
  {
    what: "a VirtualService that istiod refuses",
    manifest: { kind: "VirtualService", spec: { http: [{ timeout: "0s" }] } },
    says: /^istiod refuses timeout 0s/,
  },
  {
    what: "a VirtualService that cuts generations",
    manifest: { kind: "VirtualService", spec: { http: [{ timeout: "1m" }] } },
    says: /^timeout is 60 s and cuts longer generations/,
  },
  {
    what: "subsets over the engines",
    manifest: { kind: "DestinationRule", spec: { subsets: [{ name: "a" }, { name: "b" }] } },
    says: /^subsets are clusters of their own/,
  },
  {
    what: "a DestinationRule without least request",
    manifest: {
      kind: "DestinationRule",
      spec: { trafficPolicy: { loadBalancer: { simple: "ROUND_ROBIN" } } },
    },
    says: /^loadBalancer.simple is ROUND_ROBIN/,
  },
  {
    what: "the body limit of Envoy Gateway",
    manifest: { kind: "ClientTrafficPolicy", spec: { http2: { initialStreamWindowSize: "16Mi" } } },
    says: /^connection.bufferLimit is not set \(32 KiB\)/,
  },
  {
    what: "an HTTP/2 window of Envoy Gateway that is too small",
    manifest: {
      kind: "ClientTrafficPolicy",
      spec: { connection: { bufferLimit: "16Mi" }, http2: { initialStreamWindowSize: "512Ki" } },
    },
    says: /^http2.initialStreamWindowSize is too small/,
  },
  {
    what: "the idle timeout of Envoy Gateway",
    manifest: { kind: "ClientTrafficPolicy", spec: {} },
    says: /^timeout.http.streamIdleTimeout is not set/,
  },
  {
    what: "the route timeout of Envoy Gateway",
    manifest: { kind: "HTTPRoute", spec: { rules: [{ backendRefs: [] }] } },
    says: /^timeouts.request is 15 s and cuts longer generations/,
  },
  {
    what: "the breakers of Envoy Gateway",
    manifest: { kind: "BackendTrafficPolicy", spec: { retry: {} } },
    says: /^circuitBreaker.maxParallelRequests is 1024/,
  },
  {
    what: "missing retries in Envoy Gateway",
    manifest: { kind: "BackendTrafficPolicy", spec: {} },
    says: /^no retry/,
  },
  {
    what: "round robin in Envoy Gateway",
    manifest: { kind: "BackendTrafficPolicy", spec: { loadBalancer: { type: "RoundRobin" } } },
    says: /^loadBalancer.type is RoundRobin/,
  },
  {
    what: "a request timeout of Envoy Gateway's policy",
    manifest: {
      kind: "BackendTrafficPolicy",
      spec: { timeout: { http: { requestTimeout: "15s" } } },
    },
    says: /^timeout.http.requestTimeout is 15 s and cuts longer generations/,
  },
  {
    what: "a bootstrap without the filter in a ConfigMap",
    manifest: {
      kind: "ConfigMap",
      data: { "envoy.yaml": readFileSync(fromRoot("envoy/baseline.yaml"), "utf8") },
    },
    says: /^no HTTP chain holds the filter/,
  },
];

for (const { what, manifest, says } of MANIFEST_TRAPS) {
  test(`check finds ${what}`, () => {
    const text = stringify({
      apiVersion: "example/v1",
      metadata: { name: "smetric" },
      ...manifest,
    });
    const { kind, findings } = checkText(text);
    assert.equal(kind, "manifests");
    assert.ok(
      findings.some(({ message }) => says.test(message)),
      `found only: ${findings.map(({ message }) => message).join("; ") || "nothing"}`,
    );
  });
}

test("timeouts that are long enough are no trap, however they are written", () => {
  const route = (request?: string): string =>
    stringify({
      ...{ apiVersion: "example/v1", kind: "HTTPRoute", metadata: { name: "llm" } },
      spec: { rules: [{ timeouts: { request } }] },
    });
  const policy = stringify({
    ...{ apiVersion: "example/v1", kind: "BackendTrafficPolicy", metadata: { name: "llm" } },
    spec: {
      circuitBreaker: {
        ...{ maxConnections: 9_999, maxPendingRequests: 9_999, maxParallelRequests: 9_999 },
      },
      retry: { numRetries: 3 },
      timeout: { http: { requestTimeout: "0s" } },
    },
  });
  for (const text of [route("0s"), route("1h30m"), route("120s"), `${route()}---\n${policy}`]) {
    assert.deepEqual(checkText(text).findings, [], text);
  }
});

const gatewayRoute = (): string =>
  readFileSync(fromRoot("deploy/envoy-gateway/route.yaml"), "utf8");

for (const [what, from, to, says] of [
  ["a pin that an endpoint override does not obey", "override-host\n", "pin\n", /^steering is pin/],
  [
    "an override that reads another header",
    "x-smetric-endpoint }",
    "x-other }",
    /^steering is override-host, but no BackendTrafficPolicy/,
  ],
  [
    "a patch that switches the flag off",
    "value: true",
    "value: false",
    /^no EnvoyPatchPolicy in this file sets/,
  ],
] as const) {
  test(`check finds ${what}`, () => {
    const { findings } = checkText(gatewayRoute().replace(from, to));
    assert.deepEqual(
      findings.map(({ severity, message }) => [severity, says.test(message)]),
      [["error", true]],
    );
  });
}

test("check finds two manifests of Istio that put the filter on the same workloads", () => {
  const read = (name: string): string => readFileSync(fromRoot("deploy/istio", name), "utf8");
  const observe = read("observe.yaml");
  for (const other of [observe, read("route.yaml")]) {
    const [finding, ...more] = checkText(`${observe}---\n${other}`).findings;
    assert.match(
      finding?.message ?? "",
      /^another manifest in this file puts the filter on the same/,
    );
    assert.deepEqual(more, []);
  }
  const elsewhere = observe.replace("istio: ingressgateway", "istio: other");
  assert.deepEqual(checkText(`${observe}---\n${elsewhere}`).findings, []);
});

const istioRoute = (): string => readFileSync(fromRoot("deploy/istio/route.yaml"), "utf8");

for (const [what, from, to, says] of [
  [
    "a filter behind the router",
    "INSERT_BEFORE",
    "INSERT_AFTER",
    /^smetric is inserted after the router/,
  ],
  [
    "a session filter with another header",
    "name: x-smetric-endpoint",
    "name: x-other",
    /^stateful_session does not read/,
  ],
  [
    "a small listener buffer",
    "limit_bytes: 16777216",
    "limit_bytes: 32768",
    /^per_connection_buffer_limit_bytes is 32768 bytes/,
  ],
  [
    "a small window",
    "window_size: 16777216",
    "window_size: 65536",
    /^initial_stream_window_size is 65536 bytes/,
  ],
] as const) {
  test(`check finds ${what} in an EnvoyFilter`, () => {
    const messages = checkText(istioRoute().replace(from, to)).findings.map((each) => each.message);
    assert.equal(messages.length, 1, messages.join("; "));
    assert.match(messages[0] ?? "", says);
  });
}

test("check finds an EnvoyFilter that inserts the session filter first", () => {
  const manifest = parse(istioRoute()) as { spec: { configPatches: unknown[] } };
  const [plugin, filter, session, ...others] = manifest.spec.configPatches;
  manifest.spec.configPatches = [plugin, session, filter, ...others];
  const messages = checkText(stringify(manifest)).findings.map((each) => each.message);
  assert.equal(messages.length, 1, messages.join("; "));
  assert.match(messages[0] ?? "", /^stateful_session is inserted before the filter/);
});
