// SPDX-License-Identifier: Apache-2.0
// Code rules for the TypeScript rooms; the filter is AssemblyScript, which eslint cannot read.
import tseslint from "typescript-eslint";

export default tseslint.config(
  {
    ignores: [
      "assembly/",
      "lab/bench/filters/",
      "tests/unit/",
      "tests/fixtures/",
      ".cache/",
      "build/",
      "node_modules/",
    ],
  },
  ...tseslint.configs.recommendedTypeChecked,
  {
    files: ["**/*.ts"],
    languageOptions: {
      parserOptions: { project: "./tsconfig.json", tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      eqeqeq: "error",
      "no-console": "off",
      "prefer-const": "error",
      "@typescript-eslint/consistent-type-imports": [
        "error",
        { fixStyle: "inline-type-imports", disallowTypeAnnotations: false },
      ],
      "@typescript-eslint/switch-exhaustiveness-check": "error",
      "@typescript-eslint/restrict-template-expressions": [
        "error",
        { allowNumber: true, allowBoolean: true },
      ],
      // node:test answers a promise that the runner itself awaits.
      "@typescript-eslint/no-floating-promises": [
        "error",
        {
          allowForKnownSafeCalls: [
            { from: "package", package: "node:test", name: ["test", "it", "describe", "suite"] },
          ],
        },
      ],
      // The compiler's message streams do print themselves.
      "@typescript-eslint/no-base-to-string": [
        "error",
        { ignoredTypeNames: ["MemoryStream", "OutputStream"] },
      ],
      "@typescript-eslint/require-await": "off",
    },
  },
  { files: ["**/*.js", "**/*.mjs"], ...tseslint.configs.disableTypeChecked },
);
