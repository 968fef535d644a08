// SPDX-License-Identifier: Apache-2.0
// Counts what passed and what failed over all runners, and keeps each failure whole for the end.

export interface TestFailure {
  name: string;
  detail: string;
}

/** One per run of the test command. */
export class Tally {
  passed = 0;
  readonly failures: TestFailure[] = [];

  get total(): number {
    return this.passed + this.failures.length;
  }

  fail(name: string, detail: string): void {
    this.failures.push({ name, detail });
  }

  /** Every failure in full, then the line that says it all. */
  print(write: (text: string) => void): void {
    for (const { name, detail } of this.failures) write(`\n✖ ${name}\n${indent(detail)}\n`);
    write(`\n${this.passed} passed, ${this.failures.length} failed\n`);
  }
}

function indent(text: string): string {
  return text.trimEnd().replace(/^(?=.)/gm, "    ");
}
