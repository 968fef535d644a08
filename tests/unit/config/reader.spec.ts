// SPDX-License-Identifier: Apache-2.0
// The reader of the configuration: defaults, values of every kind, and one clear line for each fault.
import { Mode, Options, PolicyKind } from "../../../assembly/config/options";
import { readOptions } from "../../../assembly/config/reader";

function read(text: string, options: Options): string {
  const bytes = String.UTF8.encode(text);
  return readOptions(changetype<usize>(bytes), bytes.byteLength, options);
}

describe("the configuration reader", () => {
  it("leaves the defaults where the text is empty or blank", () => {
    const options = new Options();
    expect(read("", options)).toBe("");
    expect(read(" \n\t", options)).toBe("");
    expect(options.mode).toBe(Mode.Route);
    expect(options.holdStallMs).toBe(1000);
    expect(options.agentSessionHeader).toBe("x-agent-session");
    expect(options.sessionHeaders.length).toBe(0);
  });

  it("sets flags, integers, choices, texts and lists", () => {
    const options = new Options();
    const text =
      '{"mode":"observe","policy":"smetric-v2","hold_stall_ms":2.5e3,"record":true,' +
      '"tenant_header":"X-Tenant","session_headers":["X-Session-Id","x-chat"],"hash_seed":"Seed"}';
    expect(read(text, options)).toBe("");
    expect(options.mode).toBe(Mode.Observe);
    expect(options.policy).toBe(PolicyKind.SmetricV2);
    expect(options.holdStallMs).toBe(2500);
    expect(options.record).toBe(true);
    expect(options.tenantHeader).toBe("x-tenant");
    expect(options.sessionHeaders.length).toBe(2);
    expect(options.sessionHeaders[0]).toBe("x-session-id");
    expect(options.sessionHeaders[1]).toBe("x-chat");
    expect(options.hashSeed).toBe("Seed");
  });

  it("keeps the first fault", () => {
    expect(read('{"tick_ms":5,"mode":7}', new Options())).toBe(
      "tick_ms: 5 is not allowed; an integer from 10 to 1000 is",
    );
  });

  it("refuses a field that is given twice", () => {
    expect(read('{"tick_ms":50,"tick_ms":60}', new Options())).toBe("tick_ms is given twice");
  });

  it("cuts a long value in its message", () => {
    const fault = read('{"mode":"' + "a".repeat(400) + '"}', new Options());
    expect(fault).toBe(
      'mode: "' + "a".repeat(63) + '... is not allowed; one of "observe", "route" is',
    );
  });

  it("accepts a text of the greatest length and no longer", () => {
    const options = new Options();
    expect(read('{"hash_seed":"' + "s".repeat(256) + '"}', options)).toBe("");
    expect(options.hashSeed.length).toBe(256);
    expect(read('{"hash_seed":"' + "s".repeat(257) + '"}', options)).toBe(
      'hash_seed: (a hidden value) is not allowed; a printable ASCII text of at most 256 characters, or "" is',
    );
  });

  it("refuses a text that is longer than any configuration", () => {
    expect(read(" ".repeat(1 << 20) + "{}", new Options())).toBe(
      "the configuration is larger than 1 MiB",
    );
  });

  it("survives every cut of a configuration", () => {
    const text = '{"mode":"route","session_headers":["a","b"],"tick_ms":50}';
    for (let end = 1; end < text.length; end++) {
      expect(read(text.substring(0, end), new Options()).length).toBeGreaterThan(0);
    }
  });
});
