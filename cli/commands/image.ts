// SPDX-License-Identifier: Apache-2.0
// The image command: packs the module as an OCI image that Istio and Envoy Gateway can load.
import { existsSync, readFileSync } from "node:fs";
import { buildFilter } from "../build.ts";
import { Failure } from "../failure.ts";
import { requireFolder } from "../output-file.ts";
import { type ImageVariant, writeImageLayout } from "../packaging/oci-image.ts";
import { version } from "../packaging/version.ts";

export interface ImageOptions {
  out: string;
  variant: string;
}

/**
 * Writes an image layout and prints its digests as one line of JSON.
 * @throws Failure when the folder exists or cannot be made, or the variant is unknown
 */
export async function image({ out, variant }: ImageOptions): Promise<void> {
  if (variant !== "image" && variant !== "artifact") {
    throw new Failure(`--variant ${variant} is not allowed; image or artifact is`);
  }
  requireFolder("out", out);
  if (existsSync(out)) throw new Failure(`${out} exists already`);
  const module = readFileSync(await buildFilter("release"));
  const built = await writeImageLayout(module, variant satisfies ImageVariant, version(), out);
  console.log(
    JSON.stringify({ out, digest: built.digest, module_sha256: built.moduleSha256, variant }),
  );
}
