// SPDX-License-Identifier: Apache-2.0
// The memory that 100,000 sessions take.
import { describeMemory } from "../../host/sizes/memory.ts";

describeMemory(100_000);
