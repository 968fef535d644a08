// SPDX-License-Identifier: Apache-2.0
// Writes the configuration reference out of the schema of the options.
import { type Field, type Schema, SCHEMA_PATH } from "./options-schema.ts";

function writeDefault({ node }: Field): string {
  return `\`${JSON.stringify(node.default)}\``;
}

function writeAllowed(field: Field): string {
  if (field.kind === "choice") {
    return (field.node.enum ?? []).map((name) => `\`${name}\``).join(", ");
  }
  return field.allowed.replace(/"([^"]*)"/g, '`"$1"`');
}

function writeSection(field: Field): string {
  return [
    `### \`${field.path}\``,
    ``,
    field.description,
    ``,
    `Default: ${writeDefault(field)}. Allowed: ${writeAllowed(field)}.`,
    ``,
  ].join("\n");
}

/** Fields that lie directly in a group, or at the top. */
function fieldsOf({ fields }: Schema, group: string): Field[] {
  const prefix = group === "" ? "" : `${group}.`;
  return fields.filter(
    ({ path }) => path.startsWith(prefix) && !path.slice(prefix.length).includes("."),
  );
}

/** Text of docs/configuration.md. */
export function writeConfigurationReference(schema: Schema): string {
  return [
    `<!-- Generated from ${SCHEMA_PATH}: change that file, then run \`npm run generate\`. -->`,
    `# Configuration reference`,
    ``,
    `The filter reads one JSON object from the \`configuration\` of its Envoy plugin. Every field is optional; an`,
    `empty configuration means all defaults. The JSON Schema is \`${SCHEMA_PATH}\`.`,
    ``,
    `A wrong or unknown field refuses to load, and Envoy's log names the field, its value and what is allowed:`,
    ``,
    "```text",
    `tick_ms: 5 is not allowed; an integer from 10 to 1000 is`,
    "```",
    ``,
    `Fields that cannot work together are refused in the same way, as admission with a steering that holds nothing.`,
    ``,
    `At start Envoy then exits, as it does for any bad configuration. On an update it keeps the old filter and`,
    `goes on serving. \`smetric-envoy check\` finds the same faults before Envoy does.`,
    ``,
    `## Fields`,
    ``,
    ...fieldsOf(schema, "").map(writeSection),
    ...schema.groups.flatMap(({ path, description }) => [
      `## \`${path}\``,
      ``,
      `${description} Its fields are written nested: \`{"${path}": {...}}\`.`,
      ``,
      ...fieldsOf(schema, path).map(writeSection),
    ]),
  ].join("\n");
}
