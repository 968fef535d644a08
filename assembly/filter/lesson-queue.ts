// SPDX-License-Identifier: Apache-2.0
// Lessons of finished answers on their way into the records that all workers share: many with one read and one write.
import { Fleet } from "../memory/fleet";
import { Learned } from "../memory/learned";
import { WRITE_ATTEMPTS } from "../memory/shared-store";
import { learnPrices, Lesson } from "../scheduling/routing/priced-learner";

/** Lessons of one worker between two ticks; one more saves those before it. */
const MAX_LESSONS: i32 = 32;

/** One answer, and what it says of the estimate of its prompt. */
@final
export class QueuedLesson {
  readonly lesson: Lesson = new Lesson();
  fleet: Fleet | null = null;
  model: u64 = 0;
  /** G that the policy used for the request. */
  share: f64 = 0;
  /** Prompt tokens as estimated before any scale, as reported (0 = not told), and their bytes. */
  estimatedTokens: f64 = 0;
  reportedTokens: u32 = 0;
  promptBytes: u32 = 0;

  teach(learned: Learned): void {
    learnPrices(learned, this.lesson, this.share);
    if (this.reportedTokens == 0) return;
    learned.noteEstimate(this.estimatedTokens, <f64>this.reportedTokens);
    learned.noteLength(this.promptBytes, this.reportedTokens);
  }
}

/** Fill `next`, then `add` it; `save` puts all into the records. */
@final
export class LessonQueue {
  private readonly lessons: StaticArray<QueuedLesson> = new StaticArray<QueuedLesson>(MAX_LESSONS);
  private readonly learned: Learned = new Learned();
  private count: i32 = 0;

  constructor() {
    for (let i = 0; i < MAX_LESSONS; i++) this.lessons[i] = new QueuedLesson();
  }

  get next(): QueuedLesson {
    return this.lessons[this.count];
  }

  get isEmpty(): bool {
    return this.count == 0;
  }

  /** Keeps the lesson that `next` gave. */
  add(nowMs: u64): void {
    if (++this.count == MAX_LESSONS) this.save(nowMs);
  }

  /** Saves all lessons, those of one record together. */
  save(nowMs: u64): void {
    let first = 0;
    while (first < this.count) {
      let end = first + 1;
      while (end < this.count && this.isSameRecord(first, end)) end++;
      this.saveRun(first, end, nowMs);
      first = end;
    }
    this.count = 0;
  }

  private saveRun(first: i32, end: i32, nowMs: u64): void {
    const fleet = this.lessons[first].fleet;
    const model = this.lessons[first].model;
    if (fleet === null) return;
    const learned = this.learned;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      fleet.beginLesson(learned, model);
      for (let i = first; i < end; i++) this.lessons[i].teach(learned);
      if (fleet.endLesson(learned, model, nowMs)) return;
    }
  }

  private isSameRecord(first: i32, other: i32): bool {
    const a = this.lessons[first];
    const b = this.lessons[other];
    return a.fleet === b.fleet && a.model == b.model;
  }
}
