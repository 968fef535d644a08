// SPDX-License-Identifier: Apache-2.0
// The bench of the pick measures first turns and follow-ups, and counts host calls apart from them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { benchPick } from "../../../lab/bench/pick.ts";

test("a pick is measured for both kinds of request at both sizes of fleet", async () => {
  const rows = await benchPick(2);
  const named = rows.map(({ endpoints, request }) => `${endpoints} ${request}`);
  assert.deepEqual(named, ["8 first_turn", "8 follow_up", "64 first_turn", "64 follow_up"]);
  for (const { pick_ns, host_calls } of rows) {
    assert.ok(pick_ns > 0);
    assert.ok(host_calls > 0);
  }
});
