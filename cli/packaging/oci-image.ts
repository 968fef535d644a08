// SPDX-License-Identifier: Apache-2.0
// Builds OCI images of the module without a container engine, in the layouts that Istio and Envoy Gateway accept.
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import { makeFolder } from "../output-file.ts";

/**
 * `image`: an ordinary OCI image whose single layer holds `plugin.wasm`; every registry takes it.
 * `artifact`: an OCI artifact whose last layer is the module itself, as the Wasm image specification has it.
 */
export type ImageVariant = "image" | "artifact";

export const MODULE_NAME = "plugin.wasm";

const MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json";
const CONTENT_TYPE = "application/vnd.module.wasm.content.layer.v1+wasm";

interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
}

interface Blob {
  descriptor: Descriptor;
  bytes: Buffer;
}

export interface BuiltImage {
  /** Digest of the manifest, `sha256:...`: what a reference by digest names. */
  digest: string;
  /** Digest of the module itself, hexadecimal: what Istio and Envoy call `sha256`. */
  moduleSha256: string;
}

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function blob(mediaType: string, bytes: Buffer): Blob {
  return {
    descriptor: { mediaType, digest: `sha256:${sha256(bytes)}`, size: bytes.length },
    bytes,
  };
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** A tar file with one entry and no clock in it: equal modules make equal images. */
async function tarOf(module: Buffer): Promise<Buffer> {
  const archive = pack();
  archive.entry({ name: MODULE_NAME, mode: 0o644, mtime: new Date(0) }, module);
  archive.finalize();
  const pieces: Buffer[] = [];
  for await (const piece of archive) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

interface Parts {
  config: Blob;
  layers: Blob[];
}

async function asImage(module: Buffer): Promise<Parts> {
  const tar = await tarOf(module);
  const config = {
    architecture: "wasm",
    os: "wasi",
    config: {},
    rootfs: { type: "layers", diff_ids: [`sha256:${sha256(tar)}`] },
  };
  return {
    config: blob("application/vnd.oci.image.config.v1+json", json(config)),
    layers: [blob("application/vnd.oci.image.layer.v1.tar+gzip", gzipSync(tar, { level: 9 }))],
  };
}

/** Both control planes insist on two layers: what the module is for, and the module. */
function asArtifact(module: Buffer): Parts {
  const about = { type: "envoy_proxy", config: { rootIds: ["smetric"] } };
  const config = blob("application/vnd.module.wasm.config.v1+json", json(about));
  return { config, layers: [config, blob(CONTENT_TYPE, module)] };
}

/**
 * Writes an OCI image layout (a folder that `crane push`, `oras cp` or `skopeo copy` take).
 * @param tag what the image is called inside the layout
 */
export async function writeImageLayout(
  module: Buffer,
  variant: ImageVariant,
  tag: string,
  folder: string,
): Promise<BuiltImage> {
  const { config, layers } = variant === "image" ? await asImage(module) : asArtifact(module);
  const manifest = blob(
    MANIFEST_TYPE,
    json({
      schemaVersion: 2,
      mediaType: MANIFEST_TYPE,
      config: config.descriptor,
      layers: layers.map(({ descriptor }) => descriptor),
      annotations: {
        "org.opencontainers.image.title": "smetric",
        "org.opencontainers.image.version": tag,
        "org.opencontainers.image.licenses": "Apache-2.0",
      },
    }),
  );
  const blobs = join(folder, "blobs", "sha256");
  makeFolder("out", blobs);
  for (const { descriptor, bytes } of [config, ...layers, manifest]) {
    writeFileSync(join(blobs, descriptor.digest.replace("sha256:", "")), bytes);
  }
  const named = {
    ...manifest.descriptor,
    annotations: { "org.opencontainers.image.ref.name": tag },
  };
  writeFileSync(join(folder, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  writeFileSync(
    join(folder, "index.json"),
    JSON.stringify({ schemaVersion: 2, manifests: [named] }),
  );
  return { digest: manifest.descriptor.digest, moduleSha256: sha256(module) };
}
