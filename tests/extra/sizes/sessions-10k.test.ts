// SPDX-License-Identifier: Apache-2.0
// The memory that 10,000 sessions take.
import { describeMemory } from "../../host/sizes/memory.ts";

describeMemory(10_000);
