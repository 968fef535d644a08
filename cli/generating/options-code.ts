// SPDX-License-Identifier: Apache-2.0
// Writes the AssemblyScript side of the options: the class with its defaults, and the table that the reader walks.
import {
  ALPHABETS,
  type Field,
  type FieldKind,
  SCHEMA_PATH,
  type Schema,
} from "./options-schema.ts";

const HEADER = (says: string): string =>
  `// SPDX-License-Identifier: Apache-2.0\n// ${says}\n// Generated from ${SCHEMA_PATH}: change that file, then run \`npm run generate\`.\n`;

function pascal(name: string): string {
  return name.replace(/(?:^|-)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function typeName(field: Field): string {
  if (field.node.title === undefined) throw new Error(`${field.path} has no title`);
  return field.node.title;
}

function nameFunction(field: Field): string {
  const type = typeName(field);
  return `${type.charAt(0).toLowerCase()}${type.slice(1)}Name`;
}

/** Choices whose names the filter says or looks up; of all others it needs the numbers alone. */
const NAMED = ["steering", "priority.scheme"];

function writeNames(field: Field): string[] {
  const type = typeName(field);
  const names = field.node.enum ?? [];
  return [
    `/** The value as the configuration writes it. */`,
    `export function ${nameFunction(field)}(value: ${type}): string {`,
    `  switch (value) {`,
    ...names.map((name) => `    case ${type}.${pascal(name)}: return "${name}";`),
    `    default: return "";`,
    `  }`,
    `}`,
    ``,
  ];
}

function writeEnum(field: Field): string {
  const names = field.node.enum ?? [];
  return [
    `/** Values of \`${field.path}\`. */`,
    `export enum ${typeName(field)} {`,
    ...names.map((name, value) => `  ${pascal(name)} = ${value},`),
    `}`,
    ``,
    ...(NAMED.includes(field.path) ? writeNames(field) : []),
  ].join("\n");
}

function writeProperty(field: Field): string {
  const { kind, node, property } = field;
  const given = node.default;
  switch (kind) {
    case "flag":
      return `  ${property}: bool = ${String(given)};`;
    case "integer":
      return `  ${property}: i32 = ${String(given)};`;
    case "text":
      return `  ${property}: string = ${JSON.stringify(given)};`;
    case "texts":
      return `  ${property}: string[] = [${(given as string[]).map((text) => JSON.stringify(text)).join(", ")}];`;
    case "choice":
      return `  ${property}: ${typeName(field)} = ${typeName(field)}.${pascal(String(given))};`;
  }
}

function wrapComment(text: string): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line.length + word.length > 90) {
      lines.push(line);
      line = "";
    }
    line += line === "" ? word : ` ${word}`;
  }
  lines.push(line);
  return lines.length === 1
    ? `  /** ${text} */`
    : ["  /**", ...lines.map((each) => `   * ${each}`), "   */"].join("\n");
}

const isChoice = ({ kind }: Field): boolean => kind === "choice";

/** Source text of assembly/config/choices.ts. */
export function writeChoices({ fields }: Schema): string {
  return [
    HEADER("Values of the options that are one name out of a list."),
    ...fields.filter(isChoice).map(writeEnum),
  ].join("\n");
}

/** Source text of assembly/config/options.ts. */
export function writeOptions({ fields }: Schema): string {
  const types = fields.filter(isChoice).map(typeName);
  return [
    HEADER("The filter's options with their defaults."),
    `import { ${types.join(", ")} } from "./choices";`,
    ``,
    `export * from "./choices";`,
    ``,
    `/** All options; a new object holds the defaults. */`,
    `export class Options {`,
    ...fields.map((field) => `${wrapComment(field.description)}\n${writeProperty(field)}`),
    `}`,
    ``,
  ].join("\n");
}

/** One row of the table: a call of the function in field.ts that makes such a field. */
function writeRow({ path, kind, node, text, allowed }: Field): string {
  const quoted = (value: string): string => JSON.stringify(value);
  const says = quoted(allowed);
  const alphabet = `Alphabet.${ALPHABETS[text.pattern ?? ""]?.name}`;
  const lengths = `${text.minLength ?? 0}, ${text.maxLength}`;
  switch (kind) {
    case "flag":
      return `flag("${path}", ${says}),`;
    case "integer":
      return `integer("${path}", ${node.minimum}, ${node.maximum}, ${says}),`;
    case "choice":
      return `choice("${path}", [${(node.enum ?? []).map(quoted).join(", ")}], ${says}),`;
    case "text":
      return `${node.writeOnly === true ? "secret" : "text"}("${path}", ${alphabet}, ${lengths}, ${says}),`;
    case "texts":
      return `texts("${path}", ${node.maxItems}, ${alphabet}, ${lengths}, ${says}),`;
  }
}

function writeSetter(
  { fields }: Schema,
  kinds: FieldKind[],
  signature: string,
  assign: (field: Field) => string,
): string {
  const cases = fields.flatMap((field, index) =>
    kinds.includes(field.kind)
      ? [`    case ${index}: options.${field.property}${assign(field)}; break;`]
      : [],
  );
  return [
    `export function ${signature} {`,
    `  switch (field) {`,
    ...cases,
    `    default: break;`,
    `  }`,
    `}`,
    ``,
  ].join("\n");
}

/** Source text of assembly/config/fields.ts. */
export function writeFields(schema: Schema): string {
  const imports = ["Options"].concat(schema.fields.filter(isChoice).map(typeName));
  return [
    HEADER("The table of fields that the reader walks, and how each is set."),
    `import { Alphabet, choice, Field, flag, integer, secret, text, texts } from "./field";`,
    `import { ${imports.join(", ")} } from "./options";`,
    ``,
    `/** All fields; the index of a row is the field's number below. */`,
    `export function allFields(): Field[] {`,
    `  return [`,
    ...schema.fields.map(writeRow),
    `  ];`,
    `}`,
    ``,
    `/** Paths of nested groups. */`,
    `export function allGroups(): string[] {`,
    `  return [${schema.groups.map(({ path }) => `"${path}"`).join(", ")}];`,
    `}`,
    ``,
    writeSetter(
      schema,
      ["flag"],
      "setFlag(options: Options, field: i32, value: bool): void",
      () => " = value",
    ),
    `/** Sets an integer, or a choice by the number of its name. */`,
    writeSetter(
      schema,
      ["integer", "choice"],
      "setInteger(options: Options, field: i32, value: i32): void",
      (field) => (field.kind === "choice" ? ` = <${typeName(field)}>value` : " = value"),
    ),
    writeSetter(
      schema,
      ["text"],
      "setText(options: Options, field: i32, value: string): void",
      () => " = value",
    ),
    `/** Replaces a list. */`,
    writeSetter(
      schema,
      ["texts"],
      "setTexts(options: Options, field: i32, value: string[]): void",
      () => " = value",
    ),
  ].join("\n");
}
