// SPDX-License-Identifier: Apache-2.0
// The flags of the mock GPU: counts of nothing are refused by name.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Command } from "commander";
import { fleetOptions } from "../../../lab/mock-gpu/command.ts";
import { startMockFleet } from "../../../lab/mock-gpu/http/fleet.ts";
import { addMockGpuFlags, type MockGpuFlags } from "../../../lab/mock-gpu/flags.ts";

function parse(...args: string[]): Command {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => {} });
  return addMockGpuFlags(command).parse(args, { from: "user" });
}

test("counts and sizes are at least one, factors above nothing and finite", () => {
  assert.equal(parse("--endpoints", "2").opts()["endpoints"], 2);
  for (const flag of [
    "endpoints",
    "kv-tokens",
    "num-gpu-blocks-override",
    "block-size",
    "max-num-batched-tokens",
    "max-num-seqs",
    "max-model-len",
  ]) {
    assert.throws(() => parse(`--${flag}`, "0"), new RegExp(`--${flag} .*at least 1`));
  }
  for (const factor of ["0", "-1", "Infinity", "fast"]) {
    assert.throws(() => parse("--speedup", factor), /--speedup .*above 0/);
  }
});

test("a KV cache without a block starts no fleet", async () => {
  for (const args of [
    ["--num-gpu-blocks-override", "1"],
    ["--kv-tokens", "15"],
  ]) {
    const flags = parse("--port", "0", ...args).opts<MockGpuFlags>();
    await assert.rejects(startMockFleet(fleetOptions(flags)), /holds no block of 16 tokens/);
  }
});
