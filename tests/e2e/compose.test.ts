// SPDX-License-Identifier: Apache-2.0
// The compose file is valid, its parts fit together, and its very commands work in front of its very bootstrap.
import { Ajv } from "ajv";
import formats from "ajv-formats";
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { parse } from "yaml";
import { fromRoot } from "../../cli/paths.ts";
import { ENVOY_VERSION } from "../../envoy/find-envoy.ts";
import { startEnvoy, type RunningEnvoy } from "../../envoy/launcher.ts";
import { addressIn, runToEnd, serve } from "./harness/command.ts";
import { freePort } from "../extra/free-port.ts";

interface Service {
  image: string;
  build?: { target: string };
  command?: string[];
  deploy?: { replicas: number };
  depends_on?: Record<string, object>;
  volumes?: string[];
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

test("our images are built by a stage of the Dockerfile, others have a version, dependencies exist", () => {
  const stages = [...dockerfile.matchAll(/^FROM \S+ AS (\S+)$/gm)].map((match) => match[1]);
  const built = new Set<string>();
  for (const { image, build } of Object.values(compose.services)) {
    if (build === undefined) continue;
    assert.ok(stages.includes(build.target), `no stage ${build.target}`);
    built.add(image);
  }
  for (const { image, depends_on } of Object.values(compose.services)) {
    if (image.startsWith("smetric-envoy/")) assert.ok(built.has(image), `nothing builds ${image}`);
    else assert.match(image, /:v?\d+\.\d+\.\d+$/);
    for (const name of Object.keys(depends_on ?? {})) service(name);
  }
});

test("every file that a service mounts is there", () => {
  for (const { volumes = [] } of Object.values(compose.services)) {
    for (const volume of volumes) {
      const [file = "", , mode] = volume.split(":");
      assert.ok(existsSync(fromRoot(file)), volume);
      assert.equal(mode, "ro");
    }
  }
});

test("Grafana finds its dashboard where the provisioning looks, and a data source of its kind", () => {
  const mounts = Object.fromEntries(
    (service("grafana").volumes ?? []).map((volume) => volume.split(":").slice(0, 2)),
  ) as Record<string, string>;
  const dashboards = parse(read("deploy/observability/grafana-dashboards.yaml")) as {
    providers: { options: { path: string } }[];
  };
  const at = mounts["./deploy/observability/dashboard.json"] ?? "";
  assert.equal(dirname(at), dashboards.providers[0]?.options.path);
  const { datasources } = parse(read("deploy/observability/grafana-datasource.yaml")) as {
    datasources: { type: string; url: string; isDefault: boolean }[];
  };
  const [source] = datasources;
  assert.ok(source);
  service(new URL(source.url).hostname);
  assert.ok(source.isDefault);
  const { templating } = JSON.parse(read("deploy/observability/dashboard.json")) as {
    templating: { list: { type: string; query: string }[] };
  };
  const [variable] = templating.list;
  assert.deepEqual([variable?.type, variable?.query], ["datasource", source.type]);
});

/** What the Dockerfile has the lab image write for the Envoy image. */
function initCommand(): string[] {
  const [, text = ""] =
    /^RUN node cli\/smetric-envoy\.mjs (init envoy .*)$/m.exec(dockerfile) ?? [];
  return text.split(" ");
}

test("the Envoy image is the tested release with the bootstrap that init writes", () => {
  assert.match(dockerfile, new RegExp(`^FROM envoyproxy/envoy:v${ENVOY_VERSION} AS envoy$`, "m"));
  assert.match(
    dockerfile,
    /\/app\/gateway\/smetric\.wasm \/app\/gateway\/envoy\.yaml \/etc\/envoy\/$/m,
  );
  const command = initCommand();
  assert.equal(command[command.indexOf("--out") + 1], "gateway");
  const gpu = service(command[command.indexOf("--service") + 1] ?? "").command ?? [];
  assert.equal(command[command.indexOf("--port") + 1], gpu[gpu.indexOf("--port") + 1]);
});

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

/** The very bootstrap of the image, with addresses of this machine. */
async function startComposed(t: TestContext, endpoints: string[]): Promise<RunningEnvoy> {
  const folder = mkdtempSync(join(tmpdir(), "smetric-compose-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const gateway = join(folder, "gateway");
  await runToEnd(initCommand().with(initCommand().indexOf("--out") + 1, gateway));
  const adminPort = await freePort();
  const envoy = await startEnvoy({
    bootstrap: join(gateway, "envoy.yaml"),
    endpoints: { llm: endpoints, admin: [`127.0.0.1:${adminPort}`] },
    wasm: join(gateway, "smetric.wasm"),
    edit: (bootstrap) => (bootstrap.admin.address.socket_address.port_value = adminPort),
  });
  t.after(() => envoy.stop());
  return envoy;
}

test("the same commands and the same bootstrap work without Docker", async (t) => {
  const gpu = service("mock-gpu");
  assert.equal(gpu.deploy?.replicas, 4);
  const endpoints: string[] = [];
  for (let i = 0; i < gpu.deploy.replicas; i++) {
    endpoints.push(addressIn(await serve(t, withFlag(quick(gpu.command), "--port", "0"))));
  }
  const envoy = await startComposed(t, endpoints);
  const replay = withFlag(quick(service("replay").command), "--url", envoy.urls["llm"] ?? "");
  console.log(await runToEnd(replay));

  const counters = await fetch(`${envoy.urls["stats"]}/stats/prometheus`);
  assert.match(await counters.text(), /^smetric_streams\{outcome="conversation"\} [1-9]/m);
  const admin = await fetch(`${envoy.urls["stats"]}/quitquitquit`, { method: "POST" });
  assert.equal(admin.status, 404);
});
