// SPDX-License-Identifier: Apache-2.0
// The image of the module, read back as a registry client would.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { extract } from "tar-stream";
import { type ImageVariant, MODULE_NAME, writeImageLayout } from "../../cli/packaging/oci-image.ts";

const folder = mkdtempSync(join(tmpdir(), "smetric-image-"));
after(() => rmSync(folder, { recursive: true }));

const module = Buffer.from("\0asm\x01\0\0\0 and some more bytes", "latin1");

interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
}

interface Manifest {
  config: Descriptor;
  layers: Descriptor[];
}

/** Reads a blob and checks what its descriptor promises. */
function readBlob(layout: string, { digest, size }: Descriptor): Buffer {
  const bytes = readFileSync(join(layout, "blobs", ...digest.split(":")));
  assert.equal(bytes.length, size);
  assert.equal(`sha256:${createHash("sha256").update(bytes).digest("hex")}`, digest);
  return bytes;
}

function readManifest(layout: string): Manifest {
  const index = JSON.parse(readFileSync(join(layout, "index.json"), "utf8")) as {
    manifests: Descriptor[];
  };
  const [descriptor] = index.manifests;
  assert.ok(descriptor);
  assert.equal(descriptor.mediaType, "application/vnd.oci.image.manifest.v1+json");
  return JSON.parse(readBlob(layout, descriptor).toString()) as Manifest;
}

async function untar(tar: Buffer): Promise<Record<string, Buffer>> {
  const reader = extract();
  reader.end(tar);
  const files: Record<string, Buffer> = {};
  for await (const entry of reader) {
    const pieces: Buffer[] = [];
    for await (const piece of entry) pieces.push(piece as Buffer);
    files[entry.header.name] = Buffer.concat(pieces);
  }
  return files;
}

async function write(variant: ImageVariant, name: string): Promise<string> {
  const layout = join(folder, name);
  const built = await writeImageLayout(module, variant, "1.2.3", layout);
  assert.equal(built.moduleSha256, createHash("sha256").update(module).digest("hex"));
  return layout;
}

test("the image has one layer with the module under the name that Istio looks for", async () => {
  const layout = await write("image", "image");
  const { config, layers } = readManifest(layout);
  assert.equal(layers.length, 1);
  const [layer] = layers;
  assert.ok(layer);
  assert.equal(layer.mediaType, "application/vnd.oci.image.layer.v1.tar+gzip");
  const tar = gunzipSync(readBlob(layout, layer));
  assert.deepEqual(await untar(tar), { [MODULE_NAME]: module });
  const { rootfs } = JSON.parse(readBlob(layout, config).toString()) as {
    rootfs: { diff_ids: string[] };
  };
  assert.deepEqual(rootfs.diff_ids, [`sha256:${createHash("sha256").update(tar).digest("hex")}`]);
});

test("the artifact's second and last layer is the module itself", async () => {
  const layout = await write("artifact", "artifact");
  const { config, layers } = readManifest(layout);
  assert.equal(layers.length, 2);
  const [, layer] = layers;
  assert.ok(layer);
  assert.equal(config.mediaType, "application/vnd.module.wasm.config.v1+json");
  assert.equal(layer.mediaType, "application/vnd.module.wasm.content.layer.v1+wasm");
  assert.deepEqual(readBlob(layout, layer), module);
});

test("the same module makes the same image", async () => {
  const [first, second] = [await write("image", "first"), await write("image", "second")];
  assert.equal(
    readFileSync(join(first, "index.json"), "utf8"),
    readFileSync(join(second, "index.json"), "utf8"),
  );
});
