// SPDX-License-Identifier: Apache-2.0
// Puts manifests through Istio's and Envoy Gateway's own code, built from deploy/render with Go.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAllDocuments, stringify } from "yaml";
import { buildFilter } from "../build.ts";
import { Failure } from "../failure.ts";
import { type ImageVariant, writeImageLayout } from "../packaging/oci-image.ts";
import { SHIPPED } from "../packaging/templates.ts";
import { version } from "../packaging/version.ts";
import { fromRoot } from "../paths.ts";
import type { Plane, RenderCase } from "./cases.ts";
import { trim, type Rendered } from "./trim.ts";

const SOURCES = fromRoot("deploy", "render");

/** Main packages below deploy/render. */
const PACKAGES: Record<Plane, string> = { istio: "istio", "envoy-gateway": "envoygateway" };

/** Where a rendering is kept. */
export function fixtureOf(name: string): string {
  return fromRoot("tests", "fixtures", "rendered", `${name}.yaml`);
}

function fail(what: string, result: ReturnType<typeof spawnSync>): never {
  const lines = String(result.stderr).trim().split("\n").slice(-20).join("\n");
  throw new Failure(`${what}:\n${lines}`);
}

/**
 * Builds the renderer of a control plane.
 * @returns path of the binary
 * @throws Failure when Go is missing or does not build it
 */
function buildRenderer(plane: Plane): string {
  const binary = fromRoot("build", "render", plane);
  mkdirSync(fromRoot("build", "render"), { recursive: true });
  const args = ["build", "-o", binary, `./${PACKAGES[plane]}`];
  const result = spawnSync("go", args, { cwd: SOURCES, encoding: "utf8" });
  if (result.error) {
    throw new Failure("rendering needs Go (`go` on the PATH; the version in deploy/render/go.mod)");
  }
  if (result.status !== 0) fail(`Go does not build the renderer of ${plane}`, result);
  return binary;
}

interface KubernetesObject {
  kind: string;
  metadata: object;
  spec: object;
}

/** The objects of a YAML file, each passed through `change`. */
function changed(file: string, change: (object: KubernetesObject) => object): string {
  return parseAllDocuments(readFileSync(file, "utf8"))
    .map((document) => stringify(change(document.toJS() as KubernetesObject)))
    .join("---\n");
}

/** The cluster around the manifests, with the labels of a case on the engines' service. */
function clusterOf({ plane, serviceLabels }: RenderCase): string {
  const engines = changed(join(SOURCES, "engines.yaml"), (object) => {
    if (object.kind !== "Service" || serviceLabels === undefined) return object;
    return { ...object, metadata: { ...object.metadata, labels: serviceLabels } };
  });
  if (plane === "istio") return engines;
  return `${engines}---\n${readFileSync(join(SOURCES, "envoygateway", "cluster.yaml"), "utf8")}`;
}

/** The manifests of a case in one text, with its changes. */
function manifestsOf({ plane, manifests, changes = {} }: RenderCase): string {
  return manifests
    .map((file) =>
      changed(fromRoot("deploy", plane, file), (object) => ({
        ...object,
        spec: { ...object.spec, ...changes[object.kind] },
      })),
    )
    .join("---\n");
}

/** Renders cases; builds each renderer once, and the module's image. */
export class Renderer {
  readonly #folder = mkdtempSync(join(tmpdir(), "smetric-render-"));
  readonly #binaries = new Map<Plane, string>();
  #image: string | undefined;

  /** @param variant form of the image that the control planes fetch */
  constructor(private readonly variant: ImageVariant = "image") {}

  /**
   * What the Envoy of a case gets from its control plane, without what differs from run to run.
   * @throws Failure when the control plane refuses a manifest, with its words
   */
  async render(of: RenderCase): Promise<Rendered> {
    const { plane, name, flags = [] } = of;
    const cluster = join(this.#folder, "cluster.yaml");
    const manifests = join(this.#folder, "manifests.yaml");
    const out = join(this.#folder, "rendered.json");
    writeFileSync(cluster, clusterOf(of));
    writeFileSync(manifests, manifestsOf(of));
    const args = [
      ...["-cluster", cluster, "-image", await this.#imageLayout(), "-image-name", SHIPPED.image],
      ...["-out", out],
      ...(plane === "istio" ? ["-mesh", join(SOURCES, "istio", "mesh.yaml")] : []),
      ...flags,
      manifests,
    ];
    const result = spawnSync(this.#binary(plane), args, {
      encoding: "utf8",
      maxBuffer: 64 * 1_048_576,
    });
    if (result.status !== 0) fail(`${plane} does not render ${name}`, result);
    return trim(JSON.parse(readFileSync(out, "utf8")) as Rendered);
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #binary(plane: Plane): string {
    const known = this.#binaries.get(plane) ?? buildRenderer(plane);
    this.#binaries.set(plane, known);
    return known;
  }

  async #imageLayout(): Promise<string> {
    if (this.#image !== undefined) return this.#image;
    this.#image = join(this.#folder, "image");
    const module = readFileSync(await buildFilter("release"));
    await writeImageLayout(module, this.variant, version(), this.#image);
    return this.#image;
  }
}

/** The text of a fixture. */
export function fixtureText({ plane, manifests, changes }: RenderCase, rendered: Rendered): string {
  const files = manifests.map((file) => `deploy/${plane}/${file}`).join(", ");
  const from = changes === undefined ? files : `${files}, changed as cases.ts says`;
  return (
    `# Written by \`npm run render:mesh\`: what the control plane makes of ${from}.\n` +
    stringify(rendered, { aliasDuplicateObjects: false, lineWidth: 0 })
  );
}
