// SPDX-License-Identifier: Apache-2.0
// A sink that writes down what it is told, one line a token, for specs to compare.
import { Progress } from "../../../assembly/json/progress";
import { Scanner } from "../../../assembly/json/scanner";
import { Container, Sink, Token } from "../../../assembly/json/sink";
import { bytesOf, intoWindow } from "../window";

export class Recorder extends Sink {
  lines: string[] = [];
  wantTexts: bool = false;
  wantPieces: bool = false;

  begin(kind: Container, token: Token): void {
    this.lines.push((kind == Container.Object ? "{" : "[") + "@" + token.offset.toString());
    token.wantText = this.wantTexts;
    token.wantPieces = this.wantPieces;
  }

  end(kind: Container, token: Token): void {
    this.lines.push((kind == Container.Object ? "}" : "]") + "@" + token.offset.toString());
  }

  key(token: Token): void {
    this.lines.push("key " + describe(token));
    token.wantText = this.wantTexts;
  }

  text(token: Token): void {
    const kept = this.wantTexts
      ? " '" + String.UTF8.decodeUnsafe(token.text, token.textBytes) + "'"
      : "";
    this.lines.push("text " + describe(token) + kept);
  }

  number(token: Token): void {
    this.lines.push("number " + token.hash.toString(16) + " " + token.value.toString());
  }

  literal(token: Token): void {
    this.lines.push("literal " + token.literal.toString() + "@" + token.offset.toString());
  }

  piece(token: Token): void {
    this.lines.push("piece " + token.bytes.toString() + " " + token.hash.toString(16));
  }
}

function describe(token: Token): string {
  return (
    token.hash.toString(16) +
    "/" +
    token.bytes.toString() +
    "/" +
    token.wideBytes.toString() +
    "/" +
    token.wideCharacters.toString() +
    "@" +
    token.offset.toString()
  );
}

/** Feeds a document in chunks of one size (0 = all at once) and returns what finishing says. */
export function scanBytes(scanner: Scanner<Recorder>, document: Uint8Array, chunk: i32): Progress {
  scanner.reset();
  const size = chunk > 0 ? chunk : document.length;
  for (let from = 0; from < document.length; from += size) {
    const taken = min(size, document.length - from);
    scanner.feed(intoWindow(document, from, taken), taken);
  }
  return scanner.finish();
}

/** The tokens of a text, with its ending as the last line. */
export function record(text: string, chunk: i32, wantTexts: bool = false): string {
  return recordBytes(bytesOf(text), chunk, wantTexts);
}

export function recordBytes(document: Uint8Array, chunk: i32, wantTexts: bool = false): string {
  const recorder = new Recorder();
  recorder.wantTexts = wantTexts;
  const progress = scanBytes(new Scanner<Recorder>(recorder), document, chunk);
  recorder.lines.push("= " + progress.toString());
  return recorder.lines.join("\n");
}
