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
  constructor(
    /** As the configuration writes it; groups are joined by dots. */
    public path: string,
    public kind: Kind,
    /** Least integer, or least characters of a text. */
    public least: i32,
    /** Greatest integer, or most characters of a text. */
    public most: i32,
    /** Most texts of a list. */
    public maxItems: i32,
    public alphabet: Alphabet,
    /** Names of a choice, in the order of its enum. */
    public choices: string[],
    /** What an error message says is allowed. */
    public allowed: string,
  ) {}
}
