// SPDX-License-Identifier: Apache-2.0
// The memory that 1,000,000 sessions take.
import { describeMemory } from "../../host/sizes/memory.ts";

describeMemory(1_000_000);
