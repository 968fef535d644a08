// SPDX-License-Identifier: Apache-2.0
// Conversations held by SDKs for Python.
import { fromRoot } from "../../../cli/paths.ts";
import { pythonWith, runPython } from "../harness/python.ts";
import type { Talk } from "./script.ts";

const FOLDER = "tests/e2e/sdks";

/** No proxy stands between a test and its gateway, and LiteLLM takes its price list from its own package. */
const ENVIRONMENT = {
  NO_PROXY: "127.0.0.1",
  no_proxy: "127.0.0.1",
  LITELLM_LOCAL_MODEL_COST_MAP: "True",
  PYTHONUTF8: "1",
};

/**
 * The interpreter with the SDKs. Installing them stops this process: call it before there is an Envoy, which would
 * take endpoints of this process for dead meanwhile.
 */
export function pythonOfSdks(): string {
  return pythonWith(fromRoot(FOLDER, "requirements.txt"));
}

/** The conversation of one of the speakers that converse.py knows. */
export function talkInPython(speaker: string): Talk {
  return async (url, script) => {
    const python = pythonOfSdks();
    const program = fromRoot(FOLDER, "converse.py");
    const output = await runPython(
      python,
      [program, speaker, url, JSON.stringify(script)],
      ENVIRONMENT,
    );
    return output
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { tool_calls: number }).tool_calls);
  };
}
