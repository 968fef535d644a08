// SPDX-License-Identifier: Apache-2.0
// Counts wait for the tick, and reach the sink under the names that the metrics reference has.
import { Counter, Meters, StatSink } from "../../../assembly/metrics/meters";
import { Outcome } from "../../../assembly/metrics/outcome";
import { Reason } from "../../../assembly/metrics/reason";

/** Keeps what it was given by name. */
class MapSink extends StatSink {
  readonly values: Map<string, i64> = new Map<string, i64>();
  private readonly names: string[] = [];
  calls: i32 = 0;

  counter(name: string): u32 {
    return <u32>(this.names.push(name) - 1);
  }

  gauge(name: string): u32 {
    return this.counter(name);
  }

  histogram(name: string): u32 {
    return this.counter(name);
  }

  add(id: u32, amount: i64): void {
    this.calls++;
    this.values.set(this.names[id], this.valueOf(this.names[id]) + amount);
  }

  sample(id: u32, _value: u64): void {
    this.add(id, 1);
  }

  valueOf(name: string): i64 {
    return this.values.has(name) ? this.values.get(name) : 0;
  }
}

describe("meters", () => {
  it("give what was counted with one call a name, and only once", () => {
    const sink = new MapSink();
    const meters = new Meters(sink);
    for (let i = 0; i < 3; i++) {
      meters.count(Counter.PrefixTokens, 100);
      meters.countOutcome(Outcome.Conversation);
      meters.countReason(Reason.Home);
    }
    expect(sink.calls).toBe(0);
    meters.give();
    meters.give();
    expect(sink.calls).toBe(3);
    expect(sink.valueOf("smetric_prefix_tokens")).toBe(300);
    expect(sink.valueOf("smetric_streams.outcome.conversation")).toBe(3);
    expect(sink.valueOf("smetric_decisions.reason.home")).toBe(3);
  });

  it("add the tokens of reports up by band of turns", () => {
    const sink = new MapSink();
    const meters = new Meters(sink);
    meters.countReport(1, 1_000, 0);
    meters.countReport(2, 2_000, 900);
    meters.countReport(3, 3_000, 1_900);
    meters.countReport(40, 3_000_000_000, 2_900_000_000);
    meters.countReport(0, 7, 6);
    meters.give();
    expect(sink.valueOf("smetric_reported_prompt_tokens.turns.1")).toBe(1_000);
    expect(sink.values.has("smetric_cached_tokens.turns.1")).toBe(false);
    expect(sink.valueOf("smetric_reported_prompt_tokens.turns.2_to_3")).toBe(5_000);
    expect(sink.valueOf("smetric_cached_tokens.turns.2_to_3")).toBe(2_800);
    expect(sink.valueOf("smetric_reported_prompt_tokens.turns.16_up")).toBe(3_000_000_000);
    expect(sink.valueOf("smetric_cached_tokens.turns.16_up")).toBe(2_900_000_000);
    expect(sink.valueOf("smetric_cached_tokens.turns.none")).toBe(6);
  });

  it("give turns to the histogram before their room is used up", () => {
    const sink = new MapSink();
    const meters = new Meters(sink);
    for (let turn = 1; turn <= 300; turn++) meters.sampleTurn(turn);
    meters.give();
    expect(sink.valueOf("smetric_turn")).toBe(300);
  });
});
