// SPDX-License-Identifier: Apache-2.0
// The headers by which clients say who they are: a table, in the order in which they are believed.
import { Lookup } from "../hash/lookup";
import { hashName } from "../hash/text";

/** What a header says. */
export enum HeaderRole {
  /** The session or, finer, the agent or thread in it. */
  Session,
  /** A session that sub-agents share with their parent: a session if nothing finer is there, and the program. */
  Root,
  /** The session that started this one. */
  Parent,
  Turn,
  /** The last request of the session. */
  Final,
  /** How often this request was tried before. */
  Retry,
  /** A request beside the conversation: its end is not continued. */
  Side,
  /** JSON that may say so. */
  SideMetadata,
}

export class HeaderRule {
  constructor(
    readonly name: string,
    readonly role: HeaderRole,
    /** Hash of the name under which the id makes a key: the same for spellings of one header and for a parent. */
    readonly field: u64,
    /** Value that a Side header must have; empty = yes. */
    readonly value: string = "",
  ) {}
}

const MAX_RULES: i32 = 128;
/** Rule of names like `x-zoo-session-id`; the last one of all. */
const GENERIC_NAME = "x-*-session-id";
const GENERIC_START = String.UTF8.encode("x-");
const GENERIC_END = String.UTF8.encode("-session-id");
const LAST_OF_GENERIC: i32 = 0x64;
/** Lengths that are told apart; a longer name has the shape of a shorter one. */
const SHAPES: i32 = 64;

/** One per plugin configuration. */
export class HeaderRules {
  /** In the order of belief: of two session headers the one with the lower index wins. */
  readonly rules: HeaderRule[] = [];
  private readonly byName: Lookup = new Lookup(MAX_RULES);
  /** By length of a name, one bit for each last letter that a rule of this length has. */
  private readonly shapes: StaticArray<u32> = new StaticArray<u32>(SHAPES);
  private readonly generic: i32;

  /**
   * @param sessionHeaders the operator's own, believed first
   * @param agentSession, agentTurn, agentParent, agentFinal the contract of agent frameworks; empty = not read
   */
  constructor(
    sessionHeaders: string[] = [],
    agentSession: string = "x-agent-session",
    agentTurn: string = "x-agent-turn",
    agentParent: string = "x-agent-parent",
    agentFinal: string = "x-agent-final",
  ) {
    for (let i = 0; i < sessionHeaders.length; i++) this.add(sessionHeaders[i], HeaderRole.Session);
    this.add(agentSession, HeaderRole.Session);
    this.add(agentParent, HeaderRole.Parent, agentSession);
    this.add(agentTurn, HeaderRole.Turn);
    this.add(agentFinal, HeaderRole.Final);
    this.addKnown();
    this.generic = this.rules.length;
    this.add(GENERIC_NAME, HeaderRole.Session);
    for (let size = 0; size < SHAPES; size++) this.noteShape(size, LAST_OF_GENERIC);
  }

  /** False for most headers that no rule speaks of: they need no hash. */
  mayName(address: usize, size: i32): bool {
    if (size == 0) return false;
    const last = <u32>load<u8>(address + size - 1);
    return ((unchecked(this.shapes[size & (SHAPES - 1)]) >> (last & 31)) & 1) != 0;
  }

  /** Index of the rule for a header name (lower case, as Envoy gives it), or a negative number. */
  find(address: usize, size: i32, nameHash: u64): i32 {
    const found = this.byName.find(nameHash);
    if (found >= 0) return found;
    return isGeneric(address, size) ? this.generic : found;
  }

  private add(
    name: string,
    role: HeaderRole,
    keyedAs: string = name,
    value: string = "",
  ): HeaderRules {
    if (name.length == 0) return this;
    this.byName.put(hashName(name), this.rules.length);
    this.noteShape(name.length, name.charCodeAt(name.length - 1));
    this.rules.push(new HeaderRule(name, role, hashName(keyedAs), value));
    return this;
  }

  private noteShape(size: i32, last: i32): void {
    this.shapes[size & (SHAPES - 1)] |= (<u32>1) << (last & 31);
  }

  /** Child before root; hyphens before underscores, which proxies drop. Ids of single requests are never here. */
  private addKnown(): void {
    this.add("x-dynamo-session-id", HeaderRole.Session)
      .add("x-smg-routing-key", HeaderRole.Session)
      .add("x-claude-code-agent-id", HeaderRole.Session)
      .add("x-claude-code-session-id", HeaderRole.Root)
      .add("thread-id", HeaderRole.Session)
      .add("thread_id", HeaderRole.Session, "thread-id")
      .add("session-id", HeaderRole.Root)
      .add("session_id", HeaderRole.Root, "session-id")
      .add("x-session-id", HeaderRole.Session)
      .add("x-session-affinity", HeaderRole.Session)
      .add("x-opencode-session", HeaderRole.Session)
      .add("agent-session-id", HeaderRole.Session)
      .add("goose-session-id", HeaderRole.Session, "agent-session-id")
      .add("x-grok-conv-id", HeaderRole.Session)
      .add("x-deepseek-harness-session-id", HeaderRole.Session)
      .add("x-litellm-session-id", HeaderRole.Session)
      .add("x-kilocode-taskid", HeaderRole.Session)
      .add("x-zoo-task-id", HeaderRole.Session)
      .add("x-mux-workspace-id", HeaderRole.Session)
      .add("x-amp-thread-id", HeaderRole.Session)
      .add("x-client-session-id", HeaderRole.Session)
      .add("x-interaction-id", HeaderRole.Session)
      .add("x-thread-id", HeaderRole.Session)
      .add("x-merge-thread-id", HeaderRole.Session)
      .add("x-conversation-id", HeaderRole.Session)
      .add("conversation_id", HeaderRole.Session)
      .add("helicone-session-id", HeaderRole.Session)
      .add("x-model-affinity", HeaderRole.Session);

    this.add("x-dynamo-parent-session-id", HeaderRole.Parent, "x-dynamo-session-id")
      .add("x-claude-code-parent-agent-id", HeaderRole.Parent, "x-claude-code-agent-id")
      .add("x-codex-parent-thread-id", HeaderRole.Parent, "thread-id")
      .add("x-parent-session-id", HeaderRole.Parent, "x-session-id")
      .add("x-parent-session-affinity", HeaderRole.Parent, "x-session-affinity")
      .add(
        "x-deepseek-harness-parent-session-id",
        HeaderRole.Parent,
        "x-deepseek-harness-session-id",
      );

    this.add("x-dynamo-session-final", HeaderRole.Final)
      .add("x-stainless-retry-count", HeaderRole.Retry)
      .add("x-openai-subagent", HeaderRole.Side, "x-openai-subagent", "compact")
      .add("x-deepseek-harness-compact", HeaderRole.Side)
      .add("x-codex-turn-metadata", HeaderRole.SideMetadata);
  }
}

function isGeneric(address: usize, size: i32): bool {
  const end = GENERIC_END.byteLength;
  const start = GENERIC_START.byteLength;
  if (size <= start + end) return false;
  if (memory.compare(address, changetype<usize>(GENERIC_START), start) != 0) return false;
  return memory.compare(address + size - end, changetype<usize>(GENERIC_END), end) == 0;
}
