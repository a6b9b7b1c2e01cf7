/** What jobs cost beside time: counters of the store before and after, and the difference for each job. */

/** Of one moment. What cannot be known, such as the WAL of Redis, is absent. */
export interface Counters {
  readonly walBytes?: number;
  readonly commits?: number;
  /** Rows updated or deleted: each leaves a dead one behind, whether or not vacuum has been there since. */
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

/** The difference, divided: for each job, or for each second. */
export function divided(before: Counters, after: Counters, by: number): Counters {
  const costs: Partial<Record<CounterName, number>> = {};
  for (const name of counterNames) {
    const [from, to] = [before[name], after[name]];
    if (from !== undefined && to !== undefined && by > 0) costs[name] = (to - from) / by;
  }
  return costs;
}
