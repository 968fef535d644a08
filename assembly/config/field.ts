// SPDX-License-Identifier: Apache-2.0
// What the reader knows of one option: its name, its kind and its limits.

export enum Kind {
  Flag = 0,
  Integer = 1,
  Text = 2,
  /** One name out of a list. */
  Choice = 3,
  /** A list of texts. */
  Texts = 4,
}

/** Characters that a text may hold. */
export enum Alphabet {
  /** A header name; it is kept in lower case. */
  HeaderName = 0,
  /** The end of a request path: a slash, then visible ASCII. */
  PathEnd = 1,
  /** Printable ASCII, blanks included. */
  Printable = 2,
}

/** One row of the table of options. */
export class Field {
  /** Least and greatest integer, or least and most characters of a text. */
  least: i32 = 0;
  most: i32 = 0;
  /** Most texts of a list. */
  maxItems: i32 = 0;
  alphabet: Alphabet = Alphabet.Printable;
  /** Names of a choice, in the order of its enum. */
  choices: string[] = [];
  /** Its value is never printed. */
  secret: bool = false;

  constructor(
    /** As the configuration writes it; groups are joined by dots. */
    public path: string,
    public kind: Kind,
    /** What an error message says is allowed. */
    public allowed: string,
  ) {}

  range(least: i32, most: i32): Field {
    this.least = least;
    this.most = most;
    return this;
  }

  of(alphabet: Alphabet): Field {
    this.alphabet = alphabet;
    return this;
  }
}

export function flag(path: string, allowed: string): Field {
  return new Field(path, Kind.Flag, allowed);
}

export function integer(path: string, least: i32, most: i32, allowed: string): Field {
  return new Field(path, Kind.Integer, allowed).range(least, most);
}

export function choice(path: string, choices: string[], allowed: string): Field {
  const field = new Field(path, Kind.Choice, allowed);
  field.choices = choices;
  return field;
}

export function text(
  path: string,
  alphabet: Alphabet,
  least: i32,
  most: i32,
  allowed: string,
): Field {
  return new Field(path, Kind.Text, allowed).range(least, most).of(alphabet);
}

export function secret(
  path: string,
  alphabet: Alphabet,
  least: i32,
  most: i32,
  allowed: string,
): Field {
  const field = text(path, alphabet, least, most, allowed);
  field.secret = true;
  return field;
}

export function texts(
  path: string,
  maxItems: i32,
  alphabet: Alphabet,
  least: i32,
  most: i32,
  allowed: string,
): Field {
  const field = new Field(path, Kind.Texts, allowed).range(least, most).of(alphabet);
  field.maxItems = maxItems;
  return field;
}

const LOWEST_PRINTABLE: i32 = 0x20;
const HIGHEST_PRINTABLE: i32 = 0x7e;
const SLASH: i32 = 0x2f;

/** Characters of RFC 9110's `token` beside letters and digits. */
const TOKEN_MARKS: string = "!#$%&'*+.^_`|~-";

function isTokenCharacter(code: i32): bool {
  if (code >= 0x30 && code <= 0x39) return true; // 0-9
  const lower = code | 0x20;
  if (lower >= 0x61 && lower <= 0x7a) return true; // a-z, A-Z
  return TOKEN_MARKS.includes(String.fromCharCode(code));
}

/** Whether a text is made of characters that this alphabet has. */
export function accepts(alphabet: Alphabet, text: string): bool {
  if (alphabet == Alphabet.PathEnd && (text.length == 0 || text.charCodeAt(0) != SLASH))
    return false;
  const lowest = alphabet == Alphabet.PathEnd ? LOWEST_PRINTABLE + 1 : LOWEST_PRINTABLE;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < lowest || code > HIGHEST_PRINTABLE) return false;
    if (alphabet == Alphabet.HeaderName && !isTokenCharacter(code)) return false;
  }
  return true;
}
