// SPDX-License-Identifier: Apache-2.0
// The memory that 1,000,000 sessions take. That full tables stop growing is shown at smaller sizes, and by single-use-1m.
import { testRemembered } from "../../host/sizes/memory.ts";

testRemembered(1_000_000);
