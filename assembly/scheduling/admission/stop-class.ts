// SPDX-License-Identifier: Apache-2.0
// Why a session waits between two requests: the classes whose waits differ.

export enum StopClass {
  /** The model waits for a tool. */
  Tool = 0,
  /** The user has the turn. */
  EndTurn = 1,
  Other = 2,
}

export const STOP_CLASSES: i32 = 3;
