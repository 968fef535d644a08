// SPDX-License-Identifier: Apache-2.0
// The init command: writes commented manifests for a platform into a folder of the user's.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import { makeFolder, requireFolder, writeOutput } from "../output-file.ts";
import { type Platform, PLATFORMS, SHIPPED, templatesFor } from "../packaging/templates.ts";

export interface InitOptions {
  out: string;
  image?: string;
  namespace?: string;
  service?: string;
  port?: string;
}

/** Names of Kubernetes objects and hosts; anything else would end up inside YAML. */
const HOST = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;
const IMAGE = /^[a-z0-9][A-Za-z0-9.:/@_-]*$/;

function requireMatch(flag: string, value: string, pattern: RegExp, allowed: string): string {
  if (pattern.test(value)) return value;
  throw new Failure(`--${flag} ${JSON.stringify(value)} is not allowed; ${allowed} is`);
}

function requirePort(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65536) return port;
  throw new Failure(`--port ${text} is not allowed; a number from 1 to 65535 is`);
}

/**
 * Writes the files; a file that exists is never overwritten.
 * @returns their paths
 * @throws Failure when the platform is unknown, a name is not one, the folder cannot be written, or a file exists
 */
export async function init(platform: string, options: InitOptions): Promise<string[]> {
  if (!(PLATFORMS as readonly string[]).includes(platform)) {
    throw new Failure(`${platform} is not a platform; ${PLATFORMS.join(", ")} are`);
  }
  requireFolder("out", options.out);
  const { image, namespace, service, port } = options;
  const templates = await templatesFor(platform as Platform, {
    image: requireMatch(
      "image",
      image ?? SHIPPED.image,
      IMAGE,
      "an image reference such as registry.example/smetric:0.1.0",
    ),
    namespace: requireMatch(
      "namespace",
      namespace ?? SHIPPED.namespace,
      HOST,
      "a name of a-z, 0-9, - and .",
    ),
    service: requireMatch(
      "service",
      service ?? SHIPPED.service,
      HOST,
      "a host name of a-z, 0-9, - and .",
    ),
    port: requirePort(port ?? String(SHIPPED.port)),
  });
  const paths = templates.map(({ name }) => join(options.out, name));
  const taken = paths.find((path) => existsSync(path));
  if (taken !== undefined) throw new Failure(`${taken} exists already`);
  makeFolder("out", options.out);
  for (const [index, { content }] of templates.entries()) {
    writeOutput("out", paths[index] ?? "", content);
  }
  return paths;
}
