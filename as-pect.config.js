// SPDX-License-Identifier: Apache-2.0
// How as-pect runs the unit specs; SMETRIC_SPEC narrows it to some files.
export default {
  entries: (process.env["SMETRIC_SPEC"] ?? "tests/unit/**/*.spec.ts").split(","),
  include: ["tests/unit/**/*.include.ts"],
  disclude: [/node_modules/],
  async instantiate(memory, createImports, instantiate, binary) {
    return instantiate(binary, createImports({ env: { memory } }));
  },
  outputBinary: false,
};
