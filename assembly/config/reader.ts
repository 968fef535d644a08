// SPDX-License-Identifier: Apache-2.0
// Reads the plugin's configuration text into options, or says what is wrong with it.
import { Progress } from "../json/progress";
import { Scanner } from "../json/scanner";
import { combinationFault } from "./combinations";
import { Options } from "./options";
import { OptionsSink } from "./options-sink";

/** The scanner reads and writes up to this many bytes around the text it is fed. */
const MARGIN_BYTES: i32 = 128;

/** No honest configuration comes near; a larger one is a mistake in the manifest. */
const MAX_CONFIGURATION_BYTES: i32 = 1 << 20;

function isBlank(start: usize, size: i32): bool {
  for (let i = 0; i < size; i++) {
    const byte = load<u8>(start + <usize>i);
    if (byte != 0x20 && (byte < 0x09 || byte > 0x0d)) return false;
  }
  return true;
}

/**
 * Fills `options` from a JSON object; an empty text leaves the defaults.
 * @returns empty, or a line that names field, value and what is allowed; `options` is half filled then
 */
export function readOptions(start: usize, size: i32, options: Options): string {
  if (isBlank(start, size)) return "";
  if (size > MAX_CONFIGURATION_BYTES) return "the configuration is larger than 1 MiB";
  const padded = new StaticArray<u8>(size + 2 * MARGIN_BYTES);
  const text = changetype<usize>(padded) + MARGIN_BYTES;
  memory.copy(text, start, size);

  const sink = new OptionsSink(options);
  const scanner = new Scanner<OptionsSink>(sink);
  scanner.keepKeys = true;
  let progress = scanner.feed(text, size);
  if (progress != Progress.Malformed) progress = scanner.finish();
  if (sink.fault.length > 0) return sink.fault;
  if (progress == Progress.Malformed) return "the configuration is not valid JSON";
  if (progress == Progress.NeedMore) return "the configuration ends inside its JSON text";
  return combinationFault(options);
}
