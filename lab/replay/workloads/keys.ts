// SPDX-License-Identifier: Apache-2.0
// Who owns which keys: equal keys mean equal text, so workloads that are mixed must not share any.

const SPACE = 2 ** 45;

/** First key of each workload's items; the coding-agent trace has the first space. */
export const KEY_SPACE = {
  codingAgent: 0,
  airline: SPACE,
  lats: 2 * SPACE,
  bfcl: 3 * SPACE,
  sharegpt: 4 * SPACE,
  traceFile: 5 * SPACE,
  apps: 6 * SPACE,
} as const;

/** Keys of one session; no session has more items. */
export const KEYS_PER_SESSION = 2 ** 20;
