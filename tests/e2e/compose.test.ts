// SPDX-License-Identifier: Apache-2.0
// The compose file is valid, its parts fit together, and its very commands work in front of its very bootstrap.
import { Ajv } from "ajv";
import formats from "ajv-formats";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { test, type TestContext } from "node:test";
import { parse } from "yaml";
import { buildFilter } from "../../cli/build.ts";
import { fromRoot } from "../../cli/paths.ts";
import type { Bootstrap } from "../../envoy/bootstrap.ts";
import { ENVOY_VERSION } from "../../envoy/find-envoy.ts";
import { startEnvoy } from "../../envoy/launcher.ts";

interface Service {
  image: string;
  build?: { target: string };
  command?: string[];
  deploy?: { replicas: number };
  depends_on?: Record<string, object>;
}

const compose = parse(read("docker-compose.yml")) as { services: Record<string, Service> };
const dockerfile = read("Dockerfile");

function read(file: string): string {
  return readFileSync(fromRoot(file), "utf8");
}

function service(name: string): Service {
  const found = compose.services[name];
  assert.ok(found, `there is no service ${name}`);
  return found;
}

test("docker-compose.yml follows the Compose Specification", () => {
  const schema = JSON.parse(read("tests/fixtures/compose/compose-spec.json")) as Record<
    string,
    unknown
  >;
  delete schema["$schema"]; // Names draft 7 by an address that ajv does not know.
  const ajv = new Ajv({ strict: false });
  formats.default(ajv);
  const validate = ajv.compile(schema);
  assert.ok(validate(compose), JSON.stringify(validate.errors));
});

test("every image is built by a stage of the Dockerfile, and dependencies exist", () => {
  const stages = [...dockerfile.matchAll(/^FROM \S+ AS (\S+)$/gm)].map((match) => match[1]);
  const built = new Set<string>();
  for (const { image, build } of Object.values(compose.services)) {
    if (build === undefined) continue;
    assert.ok(stages.includes(build.target), `no stage ${build.target}`);
    built.add(image);
  }
  for (const { image, depends_on } of Object.values(compose.services)) {
    assert.ok(built.has(image), `nothing builds ${image}`);
    for (const name of Object.keys(depends_on ?? {})) service(name);
  }
});

test("the Envoy image is the tested release with the bootstrap that everyone gets", () => {
  assert.match(dockerfile, new RegExp(`^FROM envoyproxy/envoy:v${ENVOY_VERSION} AS envoy$`, "m"));
  assert.match(dockerfile, /envoy\/pin\.yaml \/etc\/envoy\/envoy\.yaml$/m);
  const bootstrap = parse(read("envoy/pin.yaml")) as Bootstrap;
  const text = JSON.stringify(bootstrap);
  assert.ok(text.includes('"/etc/envoy/smetric.wasm"'));
  assert.match(dockerfile, /build\/smetric\.wasm \/etc\/envoy\/smetric\.wasm$/m);
  for (const cluster of bootstrap.static_resources.clusters) {
    const [locality] = cluster.load_assignment.endpoints;
    const { socket_address } = locality?.lb_endpoints[0]?.endpoint.address ?? {};
    assert.ok(socket_address);
    const command = service(socket_address.address).command ?? [];
    assert.equal(command[command.indexOf("--port") + 1], String(socket_address.port_value));
  }
});

/** Runs a service's command as the image's entry point would; answers its first line of output. */
async function runCommand(t: TestContext, args: string[]): Promise<string> {
  const child = spawn(process.execPath, [fromRoot("cli", "smetric-envoy.mjs"), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(async () => {
    if (child.exitCode !== null) return;
    child.kill();
    await once(child, "exit");
  });
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return line;
}

/** The command with the value behind `flag` replaced. */
function withFlag(command: string[], flag: string, value: string): string[] {
  const index = command.indexOf(flag);
  assert.ok(index >= 0, `${command.join(" ")} has no ${flag}`);
  return command.with(index + 1, value);
}

/** Mock GPUs and agents share one time scale; the test takes a shorter one. */
function quick(command: string[] = []): string[] {
  return withFlag(command, "--speedup", "60");
}

test("mock GPUs and agents share one time scale", () => {
  const [gpu, agents] = ["mock-gpu", "replay"].map((name) => service(name).command ?? []);
  assert.ok(gpu && agents);
  assert.equal(gpu[gpu.indexOf("--speedup") + 1], agents[agents.indexOf("--speedup") + 1]);
});

test("the same commands and the same bootstrap work without Docker", async (t) => {
  const gpu = service("mock-gpu");
  assert.equal(gpu.deploy?.replicas, 4);
  const endpoints: string[] = [];
  for (let i = 0; i < gpu.deploy.replicas; i++) {
    const command = withFlag(quick(gpu.command), "--port", "0");
    const line = await runCommand(t, command);
    const port = /:(\d+)$/.exec(line)?.[1];
    assert.ok(port, line);
    endpoints.push(`127.0.0.1:${port}`);
  }
  const envoy = await startEnvoy({ bootstrap: "pin", endpoints, wasm: await buildFilter() });
  t.after(() => envoy.stop());
  const replay = withFlag(quick(service("replay").command), "--url", envoy.url);
  const child = spawn(process.execPath, [fromRoot("cli", "smetric-envoy.mjs"), ...replay], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  const [code] = (await once(child, "exit")) as [number];
  assert.equal(code, 0);
});
