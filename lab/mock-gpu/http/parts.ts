// SPDX-License-Identifier: Apache-2.0
// Message content of any wire format as one text: parts joined by line breaks, media as markers.
import { createHash } from "node:crypto";
import { isObject, type Json } from "./json.ts";

/** A picture or a sound costs about this many tokens, whatever its bytes. */
const MEDIA_TOKENS = 256;

/** Text of a string or of a list of parts; absent content is empty. */
export function textOfParts(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(textOfPart).join("\n");
  return textOfPart(content);
}

function textOfPart(part: unknown): string {
  if (typeof part === "string") return part;
  if (!isObject(part)) return "";
  const node = part;
  if (typeof node["text"] === "string") return node["text"];
  if (typeof node["refusal"] === "string") return node["refusal"];
  if (node["type"] === "tool_result") return textOfParts(node["content"]);
  return mediaMarker(node);
}

/** Equal media give equal markers; each of the padding characters is a token. */
function mediaMarker(node: Json): string {
  // Cache markers move from call to call and are not part of the picture.
  const media = JSON.stringify({ ...node, cache_control: undefined });
  const digest = createHash("sha256").update(media).digest("hex");
  return `${digest.slice(0, 16)}${"*\n".repeat(MEDIA_TOKENS / 2)}`;
}
