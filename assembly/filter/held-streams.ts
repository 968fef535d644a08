// SPDX-License-Identifier: Apache-2.0
// The streams whose headers are held back, in the order in which they last received a byte.
import { FilterStream } from "./filter-stream";

/** An intrusive list: the longest silent stream is first, so that the watchdog looks at one stream a tick. */
@final
export class HeldStreams {
  first: FilterStream | null = null;
  private last: FilterStream | null = null;
  size: i32 = 0;

  /** Adds a stream, or moves it to the end because it received a byte. */
  touch(stream: FilterStream): void {
    if (stream.listed) this.remove(stream);
    const last = this.last;
    stream.listed = true;
    stream.earlierHeld = last;
    stream.laterHeld = null;
    if (last === null) this.first = stream;
    else last.laterHeld = stream;
    this.last = stream;
    this.size++;
  }

  remove(stream: FilterStream): void {
    if (!stream.listed) return;
    const earlier = stream.earlierHeld;
    const later = stream.laterHeld;
    if (earlier === null) this.first = later;
    else earlier.laterHeld = later;
    if (later === null) this.last = earlier;
    else later.earlierHeld = earlier;
    stream.listed = false;
    stream.earlierHeld = null;
    stream.laterHeld = null;
    this.size--;
  }
}
