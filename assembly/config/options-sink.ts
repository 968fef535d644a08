// SPDX-License-Identifier: Apache-2.0
// Takes the tokens of a configuration, checks each against the table of fields and fills the options.
import { Container, Literal, Sink, Token } from "../json/sink";
import { accepts, Alphabet, Field, Kind } from "./field";
import { allFields, allGroups, setFlag, setInteger, setText, setTexts } from "./fields";
import { nearestName } from "./nearest";
import { Options } from "./options";

const NO_FIELD: i32 = -1;

/** Characters of a refused value that a message repeats. */
const MAX_SHOWN: i32 = 64;

const PRINTABLE_LOW: i32 = 0x20;
const PRINTABLE_HIGH: i32 = 0x7e;

/** Integers up to here are exact in a JSON number. */
const MAX_EXACT: f64 = 9007199254740992;

export class OptionsSink extends Sink {
  /** What is wrong, or empty. The first fault is kept; everything after it is ignored. */
  fault: string = "";

  private fields: Field[] = allFields();
  private groups: string[] = allGroups();
  private seen: bool[] = new Array<bool>(this.fields.length).fill(false);

  private opened: bool = false;
  /** Path of the group that is open, with a trailing dot; empty at the top. */
  private prefix: string = "";
  /** Field whose value comes next, or whose list is open. */
  private field: i32 = NO_FIELD;
  /** Group whose object comes next, or empty. */
  private group: string = "";
  private inList: bool = false;
  private texts: string[] = [];

  constructor(private options: Options) {
    super();
  }

  begin(kind: Container, token: Token): void {
    if (this.fault.length > 0) return;
    const what = kind == Container.Object ? "an object" : "a list";
    if (!this.opened) {
      this.opened = true;
      if (kind != Container.Object) this.refuse("the configuration", what, "an object");
      return;
    }
    if (this.group.length > 0) {
      if (kind != Container.Object) return this.refuse(this.group, what, "an object");
      this.prefix = this.group + ".";
      this.group = "";
      return;
    }
    const startsList = kind == Container.Array && !this.inList && this.current.kind == Kind.Texts;
    if (!startsList) return this.refuseCurrent(what);
    this.inList = true;
    this.texts = [];
    token.wantText = true;
  }

  end(kind: Container, _token: Token): void {
    if (this.fault.length > 0) return;
    if (kind == Container.Array) {
      setTexts(this.options, this.field, this.texts);
      this.inList = false;
    } else if (this.prefix.length > 0) {
      const outer = this.prefix.lastIndexOf(".", this.prefix.length - 2);
      this.prefix = outer < 0 ? "" : this.prefix.substring(0, outer + 1);
    }
  }

  key(token: Token): void {
    if (this.fault.length > 0) return;
    const path = this.prefix + decode(token);
    if (this.groups.includes(path)) {
      this.group = path;
      return;
    }
    this.field = this.findField(path);
    if (this.field == NO_FIELD) {
      const known = nearestName(path, this.candidates(path));
      this.fault = printable(path) + " is not a known option; did you mean " + known + "?";
      return;
    }
    if (this.seen[this.field]) this.fault = path + " is given twice";
    this.seen[this.field] = true;
    token.wantText = true;
  }

  text(token: Token): void {
    if (this.fault.length > 0) return;
    const text = decode(token);
    if (!this.takesValue('"' + text + '"')) return;
    const field = this.current;
    if (field.kind == Kind.Choice) {
      const choice = field.choices.indexOf(text);
      if (choice < 0) return this.refuseCurrent('"' + text + '"');
      return setInteger(this.options, this.field, choice);
    }
    const isText = field.kind == Kind.Text || (field.kind == Kind.Texts && this.inList);
    // A longer text than the token keeps is longer than any field allows.
    const fits = <i32>token.bytes >= field.least && <i32>token.bytes <= field.most;
    if (!isText || !fits || !accepts(field.alphabet, text)) {
      return this.refuseCurrent('"' + text + '"');
    }
    const kept = field.alphabet == Alphabet.HeaderName ? text.toLowerCase() : text;
    if (field.kind == Kind.Text) return setText(this.options, this.field, kept);
    if (this.texts.length == field.maxItems) return this.refuseCurrent("a longer list");
    this.texts.push(kept);
    token.wantText = true;
  }

  number(token: Token): void {
    if (this.fault.length > 0) return;
    const value = token.value;
    const shown = showNumber(value);
    if (!this.takesValue(shown)) return;
    const field = this.current;
    const isAllowed =
      field.kind == Kind.Integer &&
      value == Math.floor(value) &&
      value >= <f64>field.least &&
      value <= <f64>field.most;
    if (!isAllowed) return this.refuseCurrent(shown);
    setInteger(this.options, this.field, <i32>value);
  }

  literal(token: Token): void {
    if (this.fault.length > 0) return;
    const shown = showLiteral(token.literal);
    if (!this.takesValue(shown)) return;
    const isFlag = token.literal == Literal.True || token.literal == Literal.False;
    if (this.current.kind != Kind.Flag || !isFlag) return this.refuseCurrent(shown);
    setFlag(this.options, this.field, token.literal == Literal.True);
  }

  /** The field at hand; only asked for after a key was found. */
  private get current(): Field {
    return this.fields[max(this.field, 0)];
  }

  /** A value without a field is a group's, or the whole document: neither may be a scalar. */
  private takesValue(shown: string): bool {
    if (!this.opened) this.refuse("the configuration", shown, "an object");
    else if (this.group.length > 0) this.refuse(this.group, shown, "an object");
    return this.fault.length == 0;
  }

  private refuseCurrent(shown: string): void {
    const field = this.current;
    this.refuse(field.path, field.secret ? "(a hidden value)" : shown, field.allowed);
  }

  private refuse(path: string, shown: string, allowed: string): void {
    this.fault = path + ": " + printable(shown) + " is not allowed; " + allowed + " is";
  }

  private findField(path: string): i32 {
    for (let i = 0; i < this.fields.length; i++) {
      if (this.fields[i].path == path) return i;
    }
    return NO_FIELD;
  }

  /** What an unknown name may have meant: one of its neighbours, or the same name in another group. */
  private candidates(path: string): string[] {
    const name = lastName(path);
    const found: string[] = [];
    const known = this.groups.slice(0);
    for (let i = 0; i < this.fields.length; i++) known.push(this.fields[i].path);
    for (let i = 0; i < known.length; i++) {
      const isNeighbour = known[i] == this.prefix + lastName(known[i]);
      if (isNeighbour || lastName(known[i]) == name) found.push(known[i]);
    }
    return found;
  }
}

function lastName(path: string): string {
  return path.substring(path.lastIndexOf(".") + 1);
}

function decode(token: Token): string {
  return String.UTF8.decodeUnsafe(token.text, <usize>token.textBytes);
}

/** Cuts a long value and keeps control characters out of the log. */
function printable(text: string): string {
  let shown = "";
  for (let i = 0; i < min(text.length, MAX_SHOWN); i++) {
    const code = text.charCodeAt(i);
    shown += code < PRINTABLE_LOW || code > PRINTABLE_HIGH ? "?" : text.charAt(i);
  }
  return text.length > MAX_SHOWN ? shown + "..." : shown;
}

function showNumber(value: f64): string {
  const isExact = value == Math.floor(value) && Math.abs(value) < MAX_EXACT;
  return isExact ? (<i64>value).toString() : value.toString();
}

function showLiteral(literal: Literal): string {
  if (literal == Literal.True) return "true";
  if (literal == Literal.False) return "false";
  return literal == Literal.Null ? "null" : "a number that is not finite";
}
