// SPDX-License-Identifier: Apache-2.0
// What the body reader must know about one wire format.
import { Grammar } from "../grammar";
import { PathKind } from "../paths";
import { Place } from "../place";
import { Dialect } from "../request";

/** One per row of the table of dialects; filled once, then only read. */
export class Format {
  /** Leads from place to place inside the conversation. */
  readonly grammar: Grammar = new Grammar();
  /** Model items at the end of the list are always real: the format knows no prefill. */
  countsOpenRun: bool = false;

  /**
   * @param listKey key of the body that holds the conversation
   * @param listPlace Items for a list of items, Prompt for a rendered prompt
   * @param path the paths that speak this format, if the keys of a body leave it open
   */
  constructor(
    readonly dialect: Dialect,
    readonly listKey: string,
    readonly listPlace: Place,
    readonly path: PathKind,
  ) {}
}
