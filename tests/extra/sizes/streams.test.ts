// SPDX-License-Identifier: Apache-2.0
// A hundred thousand streams after one another and ten thousand open at once.
import { describeStreams } from "../../host/sizes/streams.ts";

describeStreams("release", 100_000, 10_000);
