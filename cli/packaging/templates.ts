// SPDX-License-Identifier: Apache-2.0
// The manifests that `init` writes: the files of deploy/ and envoy/ with the user's names in them.
import { readFileSync } from "node:fs";
import { buildFilter } from "../build.ts";
import { fromRoot } from "../paths.ts";

/** What the shipped manifests are written for, and what a user may have instead. */
export interface Names {
  image: string;
  namespace: string;
  service: string;
  port: number;
}

export const SHIPPED: Names = {
  image: "registry.example/smetric:0.1.0",
  namespace: "default",
  service: "vllm",
  port: 8000,
};

export interface Template {
  /** Name in the user's folder. */
  name: string;
  content: Buffer;
}

export const PLATFORMS = ["envoy", "kubernetes", "istio", "envoy-gateway"] as const;
export type Platform = (typeof PLATFORMS)[number];

/** Files of deploy/ by platform, all of them copied. */
const MANIFESTS: Record<Platform, string[]> = {
  envoy: [],
  kubernetes: ["kustomization.yaml", "gateway.yaml"],
  istio: [
    "traffic.yaml",
    "record.yaml",
    "observe.yaml",
    "route.yaml",
    "route-with-session-label.yaml",
    "route-with-wasmplugin.yaml",
    "sidecar.yaml",
    "hash.yaml",
  ],
  "envoy-gateway": ["traffic.yaml", "observe.yaml", "route.yaml"],
};

/** Platforms whose Envoy reads the module from a file beside its bootstrap. */
const WITH_BOOTSTRAP: Platform[] = ["envoy", "kubernetes"];

function rename(text: string, names: Names): string {
  return text
    .replaceAll(SHIPPED.image, names.image)
    .replaceAll(
      `${SHIPPED.service}.${SHIPPED.namespace}.svc`,
      `${names.service}.${names.namespace}.svc`,
    )
    .replaceAll(`namespace: ${SHIPPED.namespace}\n`, `namespace: ${names.namespace}\n`)
    .replaceAll(`name: ${SHIPPED.service}\n`, `name: ${names.service}\n`)
    .replaceAll(`name: ${SHIPPED.service} }`, `name: ${names.service} }`)
    .replaceAll(`app: ${SHIPPED.service} }`, `app: ${names.service} }`)
    .replaceAll(
      `-n ${SHIPPED.namespace} label service ${SHIPPED.service}`,
      `-n ${names.namespace} label service ${names.service}`,
    )
    .replaceAll(`umber: ${SHIPPED.port}`, `umber: ${names.port}`)
    .replaceAll(`port: ${SHIPPED.port}\n`, `port: ${names.port}\n`);
}

/** The lines of a top-level list of a YAML text, moved two columns to the right. */
function listLines(text: string, key: string): string {
  const [, lines = ""] = new RegExp(`^${key}:\\n((?:[ ].*\\n)*)`, "m").exec(text) ?? [];
  return lines.replace(/^(?=.)/gm, "  ");
}

/** Puts the stats listener into a bootstrap, whose comments stay where they are. */
function addStatsListener(bootstrap: string): string {
  const addition = readFileSync(fromRoot("deploy", "observability", "stats-listener.yaml"), "utf8");
  return ["listeners", "clusters"].reduce(
    (text, key) => text.replace(`\n  ${key}:\n`, (line) => line + listLines(addition, key)),
    bootstrap,
  );
}

/** The recommended bootstrap, in front of the user's service. */
function bootstrap(platform: Platform, names: Names): string {
  const host =
    platform === "kubernetes"
      ? `${names.service}.${names.namespace}.svc.cluster.local`
      : names.service;
  const shipped = readFileSync(fromRoot("envoy", "pin.yaml"), "utf8");
  return addStatsListener(shipped).replaceAll(
    "address: mock-gpu, port_value: 8000",
    `address: ${host}, port_value: ${names.port}`,
  );
}

/** Every file that `init` writes for a platform. */
export async function templatesFor(platform: Platform, names: Names): Promise<Template[]> {
  const templates = MANIFESTS[platform].map((name) => ({
    name,
    content: Buffer.from(rename(readFileSync(fromRoot("deploy", platform, name), "utf8"), names)),
  }));
  if (!WITH_BOOTSTRAP.includes(platform)) return templates;
  return [
    ...templates,
    { name: "envoy.yaml", content: Buffer.from(bootstrap(platform, names)) },
    { name: "smetric.wasm", content: readFileSync(await buildFilter("release")) },
  ];
}
