// SPDX-License-Identifier: Apache-2.0
// Held requests at a size for every day; `npm run test:extra -- held-streams` has the full one.
import { testHeldStreams } from "./sizes/held-streams.ts";

testHeldStreams({ streams: 40, bytes: 200_000, seconds: 3, aborts: 12, others: 100 });
