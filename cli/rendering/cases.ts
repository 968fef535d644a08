// SPDX-License-Identifier: Apache-2.0
// What is put through the real control planes: each way to deploy the filter, with the manifests that a user applies.

/** A control plane that turns manifests into the configuration of an Envoy. */
export type Plane = "istio" | "envoy-gateway";

export interface RenderCase {
  /** Name of the fixture. */
  name: string;
  plane: Plane;
  /** Files below deploy/<plane>/ that are applied together. */
  manifests: string[];
  /** Arguments of the renderer beyond the common ones. */
  flags?: string[];
  /** Labels of the engines' service. */
  serviceLabels?: Record<string, string>;
  /** What the documentation tells users to change, by kind: fields of `spec`, replaced whole. */
  changes?: Record<string, object>;
}

export const CASES: RenderCase[] = [
  {
    name: "istio-observe",
    plane: "istio",
    manifests: ["traffic.yaml", "record.yaml", "observe.yaml"],
  },
  {
    name: "istio-route",
    plane: "istio",
    manifests: ["traffic.yaml", "record.yaml", "route.yaml"],
  },
  {
    name: "istio-route-with-session-label",
    plane: "istio",
    manifests: ["traffic.yaml", "record.yaml", "route-with-session-label.yaml"],
    flags: ["-session-label"],
    serviceLabels: { "istio.io/persistent-session-header": "x-smetric-endpoint" },
  },
  {
    name: "istio-route-with-wasmplugin",
    plane: "istio",
    manifests: ["traffic.yaml", "record.yaml", "route-with-wasmplugin.yaml"],
  },
  {
    name: "istio-sidecar",
    plane: "istio",
    manifests: ["traffic.yaml", "sidecar.yaml"],
    flags: ["-proxy", "sidecar"],
  },
  {
    name: "istio-hash",
    plane: "istio",
    manifests: ["record.yaml", "hash.yaml"],
  },
  {
    name: "envoy-gateway-observe",
    plane: "envoy-gateway",
    manifests: ["traffic.yaml", "observe.yaml"],
  },
  {
    name: "envoy-gateway-route",
    plane: "envoy-gateway",
    manifests: ["traffic.yaml", "route.yaml"],
  },
  {
    name: "envoy-gateway-route-buffered",
    plane: "envoy-gateway",
    manifests: ["traffic.yaml", "route.yaml"],
    changes: {
      // The defaults of Envoy Gateway, as where the limits are not the user's to raise.
      ClientTrafficPolicy: { connection: { bufferLimit: 32_768 }, http2: {} },
      BackendTrafficPolicy: { requestBuffer: { limit: "16Mi" } },
    },
  },
];
