// SPDX-License-Identifier: Apache-2.0
// Made-up applications: each with its own system text and tools, as long as agents' really are.
import { prose } from "../bodies/prose.ts";
import { KEY_SPACE } from "./keys.ts";
import type { App } from "./session.ts";

const TOOL_NAMES =
  "read_file write_file edit_file list_folder search_text search_files run_command run_tests git_diff git_log git_commit fetch_page open_browser take_screenshot ask_user plan_task spawn_agent read_notes write_notes finish".split(
    " ",
  );
const CHARACTERS_PER_TOKEN = 4;
/** Share of the head that is tools; the trace's sessions have 12k tokens of tools and 3k of system text. */
const TOOL_SHARE = 0.8;

function toolOf(name: string, key: number, characters: number): unknown {
  return {
    type: "function",
    function: {
      name,
      description: prose(key, Math.max(20, characters - 180)),
      parameters: {
        type: "object",
        properties: {
          path: { type: "string" },
          text: { type: "string" },
          limit: { type: "integer" },
        },
        required: ["path"],
      },
    },
  };
}

/**
 * Applications whose heads have about `headTokens` tokens each.
 * @param count how many; app k has its own texts
 */
export function madeUpApps(count: number, headTokens: number): App[] {
  return Array.from({ length: count }, (_, index) => {
    const key = KEY_SPACE.apps + index * 64;
    const characters = headTokens * CHARACTERS_PER_TOKEN;
    const perTool = (characters * TOOL_SHARE) / TOOL_NAMES.length;
    const tools = TOOL_NAMES.map((name, at) => toolOf(name, key + at, Math.round(perTool)));
    const system = `You are agent ${index}. ${prose(key + 63, Math.round(characters * (1 - TOOL_SHARE)))}`;
    return { name: `coding-${index}`, system, tools, headTokens };
  });
}
