// SPDX-License-Identifier: Apache-2.0
// The table of studies, in the order of their sections.
import { admissionStudy } from "./admission/admission-study.ts";
import { routingStudy } from "./routing/routing-study.ts";
import type { Study } from "./study.ts";

export const STUDIES: readonly Study[] = [routingStudy, admissionStudy];
