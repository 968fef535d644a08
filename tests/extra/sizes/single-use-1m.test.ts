// SPDX-License-Identifier: Apache-2.0
// A million conversations of one call against a thousand live sessions.
import { testSingleUse } from "../../host/sizes/memory.ts";

testSingleUse(1_000_000, 1_000);
