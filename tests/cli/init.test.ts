// SPDX-License-Identifier: Apache-2.0
// What init writes: valid, clean under check, with the user's names in it and nothing of ours left.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { parse, parseAllDocuments } from "yaml";
import { checkText } from "../../cli/checking/documents.ts";
import { findNodes, isNode, type Node, nodesAt, textAt } from "../../cli/checking/node.ts";
import { check } from "../../cli/commands/check.ts";
import { image } from "../../cli/commands/image.ts";
import { init } from "../../cli/commands/init.ts";
import { Failure } from "../../cli/failure.ts";
import { PLATFORMS } from "../../cli/packaging/templates.ts";
import { fromRoot } from "../../cli/paths.ts";

const folder = mkdtempSync(join(tmpdir(), "smetric-init-"));
after(() => rmSync(folder, { recursive: true }));

const NAMES = { image: "ghcr.io/acme/smetric:9", namespace: "ai", service: "qwen", port: "9000" };

for (const platform of PLATFORMS) {
  test(`init ${platform} writes files that check finds nothing in`, async () => {
    const out = join(folder, platform);
    await init(platform, { out, ...NAMES });
    const files = readdirSync(out).filter((name) => name.endsWith(".yaml"));
    assert.ok(files.length > 0);
    for (const name of files.filter((each) => each !== "kustomization.yaml")) {
      const text = readFileSync(join(out, name), "utf8");
      assert.deepEqual(checkText(text).findings, [], name);
      assert.doesNotMatch(text.replaceAll(/^\s*#.*$/gm, ""), /registry\.example|\bvllm\b|\b8000\b/);
    }
  });
}

test("check takes the folders that init writes, and refuses one that holds nothing to check", (t) => {
  t.mock.method(console, "log", () => undefined);
  const folders = PLATFORMS.map((platform) => join(folder, platform));
  assert.doesNotThrow(() => check(folders, { strict: true }));
  assert.throws(() => check([mkdtempSync(join(folder, "empty-"))], {}), Failure);
});

test("the bootstrap that init writes lets Prometheus read the counters, and nothing else", () => {
  const tree = parse(readFileSync(join(folder, "envoy", "envoy.yaml"), "utf8")) as Node;
  const names = (path: string): string[] => nodesAt(tree, path).map((node) => textAt(node, "name"));
  assert.deepEqual(names("static_resources.listeners"), ["stats", "llm"]);
  assert.deepEqual(names("static_resources.clusters"), ["admin", "llm"]);
  const [route] = findNodes(tree, (node) => "path" in node);
  assert.equal(route?.["path"], "/stats/prometheus");
});

test("init envoy and init kubernetes bring the module", () => {
  for (const platform of ["envoy", "kubernetes"]) {
    assert.ok(existsSync(join(folder, platform, "smetric.wasm")));
  }
});

test("the files of the kustomization are all there", () => {
  const text = readFileSync(join(folder, "kubernetes", "kustomization.yaml"), "utf8");
  const [document] = parseAllDocuments(text);
  const { resources, configMapGenerator } = document?.toJS() as {
    resources: string[];
    configMapGenerator: { files: string[] }[];
  };
  const files = configMapGenerator.flatMap((generator) => generator.files);
  for (const name of [...resources, ...files]) {
    assert.ok(existsSync(join(folder, "kubernetes", name)), name);
  }
});

test("init never overwrites a file", async () => {
  const out = join(folder, "istio");
  await assert.rejects(init("istio", { out, ...NAMES }), /exists already/);
});

test("init refuses a platform and names that are none", async () => {
  await assert.rejects(init("nomad", { out: folder }), Failure);
  await assert.rejects(
    init("istio", { out: folder, service: 'x"\ny' }),
    /--service .* is not allowed; a host name of a-z, 0-9, - and \. is/,
  );
  await assert.rejects(init("istio", { out: folder, port: "0" }), /--port 0 is not allowed/);
});

test("every shipped manifest is an object of Kubernetes", () => {
  for (const platform of ["istio", "envoy-gateway", "kubernetes"]) {
    for (const name of readdirSync(fromRoot("deploy", platform))) {
      const documents = parseAllDocuments(readFileSync(fromRoot("deploy", platform, name), "utf8"));
      for (const document of documents) {
        assert.deepEqual(document.errors, [], name);
        const object: unknown = document.toJS();
        assert.ok(isNode(object), name);
        assert.match(textAt(object, "apiVersion"), /\S/, name);
        assert.match(textAt(object, "kind"), /\S/, name);
        if (object["kind"] !== "Kustomization") assertNamed(object, name);
      }
    }
  }
});

function assertNamed(object: Node, file: string): void {
  assert.match(textAt(object, "metadata.name"), /\S/, file);
  assert.match(textAt(object, "metadata.namespace"), /\S/, file);
}

test("init and image refuse a folder that cannot be made, before they begin", async () => {
  const file = join(folder, "istio", "traffic.yaml");
  for (const [out, says] of [
    ["", /^--out : cannot be written: the name is empty$/],
    [file, /^--out .*traffic\.yaml: cannot be written: .*traffic\.yaml is no folder$/],
    [join(file, "below", "it"), /cannot be written: .*traffic\.yaml is no folder$/],
  ] as const) {
    const refused = (fault: unknown): boolean =>
      fault instanceof Failure && says.test(fault.message);
    await assert.rejects(init("istio", { out }), refused);
    await assert.rejects(image({ out, variant: "image" }), refused);
  }
});

test("init and image say so where the system has no room for a folder", async () => {
  const out = "/proc/smetric-envoy";
  const refused = /^Failure: --out \/proc\/smetric-envoy(\/\S+)?: cannot be written: /;
  await assert.rejects(init("istio", { out }), refused);
  await assert.rejects(image({ out, variant: "image" }), refused);
});
