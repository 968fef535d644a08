// SPDX-License-Identifier: Apache-2.0
// Chat-completions bodies of a session's calls: real text where the trace has it, text made to length where not.
import { type App, type Call, type Item, itemsOf, type Session } from "../workloads/session.ts";
import { chance } from "../workloads/random.ts";
import { prose } from "./prose.ts";

export interface BodyOptions {
  model: string;
  /** Characters of content per token of made-up text; JSON syntax comes on top. */
  bytesPerToken: number;
  /** Makes all text up, also where the workload has its own: every app then has `bytesPerToken` alike. */
  synthetic: boolean;
  /** Sessions differ in bytes per token by up to this share; only of made-up text. */
  estimateError?: number;
}

/** What follows on the messages, up to the closing brace. */
const TAIL = '],"stream":true,"stream_options":{"include_usage":true}';
const TAIL_BYTES = Buffer.from(`${TAIL}}`);

/** Keys of made-up system texts lie below those of all items. */
const SYSTEM_KEY = -1;

function toolCallId(key: number): string {
  return `call_${key.toString(36)}`;
}

function assistantMessage(item: Item, characters: number): object {
  if (!item.callsTool) {
    return { role: "assistant", content: prose(item.key, characters) };
  }
  const path = `src/${item.key.toString(36)}.ts`;
  const text = prose(item.key, characters);
  const call = { name: "edit_file", arguments: JSON.stringify({ path, text }) };
  return {
    role: "assistant",
    content: null,
    tool_calls: [{ id: toolCallId(item.key), type: "function", function: call }],
  };
}

function messageOf(item: Item, bytesPerToken: number): object {
  const characters = Math.round(item.tokens * bytesPerToken);
  if (item.role === "assistant") return assistantMessage(item, characters);
  const content = prose(item.key, characters);
  if (item.role === "user") return { role: "user", content };
  return { role: "tool", tool_call_id: toolCallId(item.parent?.key ?? 0), content };
}

/** Builds bodies and remembers the JSON of items that later calls send again. */
export class ChatBodies {
  private readonly itemJson = new WeakMap<Item, string>();
  private readonly itemBytes = new WeakMap<Item, Buffer>();
  private readonly densities = new WeakMap<Session, number>();
  private readonly heads = new WeakMap<App, string>();
  private readonly headBytes = new WeakMap<App, Buffer>();

  constructor(private readonly options: BodyOptions) {}

  /** The message of an item as JSON. */
  message(item: Item, bytesPerToken = this.options.bytesPerToken): string {
    if (item.json !== undefined && !this.options.synthetic) return item.json;
    let json = this.itemJson.get(item);
    if (json === undefined) {
      json = JSON.stringify(messageOf(item, bytesPerToken));
      this.itemJson.set(item, json);
    }
    return json;
  }

  /**
   * The request body of a call, streaming with usage.
   * @param extra members after `messages`, as JSON without the braces (`"a":1,"b":2`), or empty
   */
  body(session: Session, call: Call, extra = ""): string {
    const density = this.densityOf(session);
    const messages = itemsOf(call.tip)
      .map((item) => this.message(item, density))
      .join(",");
    const more = extra === "" ? "" : `,${extra}`;
    return `${this.head(session.app)},${messages}${TAIL}${more}}`;
  }

  /** `body` without anything extra as bytes: what earlier calls sent is not encoded again. */
  bytes(session: Session, call: Call): Buffer {
    const density = this.densityOf(session);
    const parts = [this.headBytesOf(session.app)];
    for (const item of itemsOf(call.tip)) parts.push(this.messageBytes(item, density));
    parts.push(TAIL_BYTES);
    return Buffer.concat(parts);
  }

  /** The message of an item with the comma in front of it. */
  private messageBytes(item: Item, bytesPerToken: number): Buffer {
    let bytes = this.itemBytes.get(item);
    if (bytes === undefined) {
      bytes = Buffer.from(`,${this.message(item, bytesPerToken)}`);
      this.itemBytes.set(item, bytes);
    }
    return bytes;
  }

  private headBytesOf(app: App): Buffer {
    let bytes = this.headBytes.get(app);
    if (bytes === undefined) {
      bytes = Buffer.from(this.head(app));
      this.headBytes.set(app, bytes);
    }
    return bytes;
  }

  /** Bytes per token of one session's text. */
  private densityOf(session: Session): number {
    const { bytesPerToken, estimateError = 0 } = this.options;
    if (estimateError === 0) return bytesPerToken;
    let density = this.densities.get(session);
    if (density === undefined) {
      const draw = chance(0, `density/${session.id}`).uniform();
      density = bytesPerToken * (1 + estimateError * (2 * draw - 1));
      this.densities.set(session, density);
    }
    return density;
  }

  private head(app: App): string {
    let json = this.heads.get(app);
    if (json === undefined) {
      const { model, synthetic, bytesPerToken } = this.options;
      const characters = Math.round(app.headTokens * bytesPerToken);
      const content = synthetic ? `${app.name} ${prose(SYSTEM_KEY, characters)}` : app.system;
      const system = JSON.stringify({ role: "system", content });
      const tools = synthetic ? "" : `"tools":${JSON.stringify(app.tools)},`;
      json = `{"model":${JSON.stringify(model)},${tools}"messages":[${system}`;
      this.heads.set(app, json);
    }
    return json;
  }
}
