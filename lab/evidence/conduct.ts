// SPDX-License-Identifier: Apache-2.0
// Conducts a study: plays what is not done yet, round by round, until the study asks for nothing new.
import type { Player } from "./player.ts";
import type { RunRecords, RunRow } from "./records.ts";
import type { Results, RunMeasures, RunSpec, Size, Study } from "./study.ts";

export interface Conduct {
  size: Size;
  workers: number;
  signal: AbortSignal;
  /** Says one line of progress. */
  say: (message: string) => void;
}

/** Results of a study by what was run, whoever ran it. */
export class StudyResults implements Results {
  constructor(
    private readonly keyOf: (spec: RunSpec) => string,
    private readonly rowOf: (key: string) => RunRow | undefined,
  ) {}

  get(spec: RunSpec): RunMeasures | undefined {
    return this.rowOf(this.keyOf(spec))?.measures;
  }
}

/** Results that were written down before, found again by their description. */
export function writtenResults(rows: readonly RunRow[]): StudyResults {
  const keyOf = (spec: RunSpec): string => JSON.stringify(spec);
  const byKey = new Map(rows.map((row) => [keyOf(row.spec), row]));
  return new StudyResults(keyOf, (key) => byKey.get(key));
}

function minutesOf(seconds: number): string {
  if (seconds < 5400) return `${Math.max(1, Math.round(seconds / 60))} minutes`;
  return `${(seconds / 3600).toFixed(1)} hours`;
}

/** What is said before anything runs. */
export function announcement(study: Study, size: Size, workers: number): string {
  const most = study.mostRuns(size);
  const seconds = (most * study.secondsPerRun) / workers;
  return `${study.title}: at most ${most} runs, about ${minutesOf(seconds)} on ${workers} idle cores`;
}

/**
 * Plays a study to its end.
 * @returns its rows, in the order in which the study names its runs
 */
export async function conduct(
  study: Study,
  player: Player,
  records: RunRecords,
  { size, workers, signal, say }: Conduct,
): Promise<RunRow[]> {
  const results = new StudyResults(
    (spec) => player.keyOf(spec),
    (key) => records.get(key),
  );
  for (;;) {
    const wanted = study.runs(size, results);
    const unplayed = wanted.filter((spec) => results.get(spec) === undefined);
    // The same run may stand in two cells.
    const missing = [...new Map(unplayed.map((spec) => [player.keyOf(spec), spec])).values()];
    if (missing.length === 0) {
      return wanted.map((spec) => ({ ...records.get(player.keyOf(spec))!, spec }));
    }
    say(`${study.name}: ${wanted.length - unplayed.length} runs are done, ${missing.length} to go`);
    let count = 0;
    await player.playAll(
      missing,
      workers,
      (spec, { measures, cpuSeconds }) => {
        records.add({ key: player.keyOf(spec), spec, measures });
        count++;
        const load = Object.values(spec.load).join(" ");
        const what = `${spec.cell}, ${spec.arm}, load ${load}, seed ${spec.seed}`;
        const found = `${Math.round(measures.tps_slo / 1000)} k tokens/s within the SLO`;
        say(`  ${count}/${missing.length} ${what}: ${found}, ${cpuSeconds.toFixed(1)} s`);
      },
      signal,
    );
  }
}
