// SPDX-License-Identifier: Apache-2.0
// 300 held requests of a megabyte for a minute.
import { testHeldStreams } from "../../e2e/sizes/held-streams.ts";

testHeldStreams({ streams: 300, bytes: 1_000_000, seconds: 60, aborts: 100, others: 500 });
