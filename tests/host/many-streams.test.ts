// SPDX-License-Identifier: Apache-2.0
// Many streams at a size for every day; the full one is tests/extra/sizes/streams.test.ts.
import { TARGETS } from "./harness.ts";
import { describeStreams } from "./sizes/streams.ts";

for (const target of TARGETS) describeStreams(target, 10_000, 2_000);
