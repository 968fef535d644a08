// SPDX-License-Identifier: Apache-2.0
// A fault of the user's input or surroundings: printed as one clear line, without a stack trace.

/** Thrown by commands; `main` prints the message and exits with `exitCode`. */
export class Failure extends Error {
  constructor(
    message: string,
    readonly exitCode = 1,
  ) {
    super(message);
    this.name = "Failure";
  }
}
