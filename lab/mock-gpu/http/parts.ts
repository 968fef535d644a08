// SPDX-License-Identifier: Apache-2.0
// Message content of any wire format as one text: parts joined by line breaks, media as markers.
import { createHash } from "node:crypto";

type Json = Record<string, unknown>;

/** A picture or a sound costs about this many tokens, whatever its bytes. */
const MEDIA_TOKENS = 256;

/** Text of a string or of a list of parts; absent content is empty. */
export function textOfParts(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(textOfPart).join("\n");
  if (typeof content === "object" && content !== null) return textOfPart(content);
  return "";
}

function textOfPart(part: unknown): string {
  if (typeof part === "string") return part;
  if (typeof part !== "object" || part === null) return "";
  const node = part as Json;
  if (typeof node["text"] === "string") return node["text"];
  if (typeof node["refusal"] === "string") return node["refusal"];
  if (node["type"] === "tool_result") return textOfParts(node["content"]);
  return mediaMarker(node);
}

/** Equal media give equal markers; every second character becomes a token of its own. */
function mediaMarker(node: Json): string {
  const { cache_control: _moved, ...rest } = node;
  const digest = createHash("sha256").update(JSON.stringify(rest)).digest("hex");
  return `${digest.slice(0, 16)}${"*\n".repeat(MEDIA_TOKENS / 2)}`;
}
