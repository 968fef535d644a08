// SPDX-License-Identifier: Apache-2.0
// The files of the repository that are written by code, and what they must contain.
import { format, resolveConfig } from "prettier";
import { fromRoot } from "../paths.ts";
import { writeDashboard } from "./dashboard.ts";
import { writeMetricsReference } from "./metrics-docs.ts";
import { writeChoices, writeFields, writeOptions } from "./options-code.ts";
import { writeConfigurationReference } from "./options-docs.ts";
import { readSchema } from "./options-schema.ts";

export interface GeneratedFile {
  /** Relative to the package root. */
  path: string;
  content: string;
}

/** The house format for code; Markdown is written as it should be. */
async function formatted({ path, content }: GeneratedFile): Promise<GeneratedFile> {
  if (path.endsWith(".md")) return { path, content };
  const filepath = fromRoot(path);
  const options = await resolveConfig(filepath);
  return { path, content: await format(content, { ...options, filepath }) };
}

/** Every generated file with the content that its sources ask for. */
export async function generateFiles(): Promise<GeneratedFile[]> {
  const schema = readSchema();
  const files: GeneratedFile[] = [
    { path: "assembly/config/choices.ts", content: writeChoices(schema) },
    { path: "assembly/config/options.ts", content: writeOptions(schema) },
    { path: "assembly/config/fields.ts", content: writeFields(schema) },
    { path: "docs/configuration.md", content: writeConfigurationReference(schema) },
    { path: "deploy/observability/dashboard.json", content: writeDashboard() },
    { path: "docs/metrics.md", content: writeMetricsReference() },
  ];
  return Promise.all(files.map(formatted));
}
