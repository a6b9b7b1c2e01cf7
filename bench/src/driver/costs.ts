/** What jobs cost besides time: counters of the store before and after, and the difference per job. */

/** Counters at one moment. A counter that the store does not have, such as the WAL of Redis, is absent. */
export interface Counters {
  readonly walBytes?: number;
  readonly commits?: number;
  /** Rows updated or deleted. Each leaves a dead row behind, and it counts even if vacuum has removed it since. */
  readonly deadRows?: number;
  readonly tableBytes?: number;
  readonly indexBytes?: number;
  readonly serverCpuSeconds?: number;
  readonly workerCpuSeconds?: number;
}

export type CounterName = keyof Counters;

export const counterNames: readonly CounterName[] = [
  "walBytes",
  "commits",
  "deadRows",
  "tableBytes",
  "indexBytes",
  "serverCpuSeconds",
  "workerCpuSeconds",
];

/** The difference of two readings, divided by a number of jobs or seconds. */
export function divided(before: Counters, after: Counters, by: number): Counters {
  const costs: Partial<Record<CounterName, number>> = {};
  for (const name of counterNames) {
    const [from, to] = [before[name], after[name]];
    if (from !== undefined && to !== undefined && by > 0) costs[name] = (to - from) / by;
  }
  return costs;
}
