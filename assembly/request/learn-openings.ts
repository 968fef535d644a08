// SPDX-License-Identifier: Apache-2.0
// Reads each known beginning of an item once, for every format, and keeps what it came to.
import { Scanner, WINDOW_SLACK_BYTES } from "../json/scanner";
import { BodySink } from "./body-sink";
import { CHAT_OPENINGS, TYPED_OPENINGS } from "./openings";
import { PathKind } from "./paths";

const MAX_TEXT_BYTES: i32 = 128;

/** Reads the beginnings at the start of the module, by the same code that reads all other items. */
export function learnOpenings(): void {
  const learner = new Learner();
  learner.learn(PathKind.Chat, '{"messages":[', CHAT_OPENINGS);
  learner.learn(PathKind.Messages, '{"messages":[', CHAT_OPENINGS);
  learner.learn(PathKind.Responses, '{"input":[', CHAT_OPENINGS);
  learner.learn(PathKind.Responses, '{"input":[', TYPED_OPENINGS);
}

class Learner {
  private readonly sink: BodySink = new BodySink();
  private readonly scanner: Scanner<BodySink> = new Scanner<BodySink>(this.sink);
  private readonly window: StaticArray<u8> = new StaticArray<u8>(
    MAX_TEXT_BYTES + 2 * WINDOW_SLACK_BYTES,
  );

  learn(path: PathKind, list: string, openings: string[]): void {
    for (let i = 0; i < openings.length; i++) {
      this.sink.reset(0, path, false);
      this.scanner.reset();
      this.read(list);
      const size = this.read(openings[i]);
      this.sink.keepOpening(this.start, size, this.scanner.token);
    }
  }

  private get start(): usize {
    return changetype<usize>(this.window) + <usize>WINDOW_SLACK_BYTES;
  }

  /** @returns bytes of the text */
  private read(text: string): i32 {
    const start = this.start;
    const size = <i32>String.UTF8.encodeUnsafe(changetype<usize>(text), text.length, start);
    this.scanner.feed(start, size);
    return size;
  }
}
