/** What a workload is: a small module that says what is measured, of whom, and how. */
import type { Crowd } from "../driver/arena.ts";
import type { Counters } from "../driver/costs.ts";
import type { Session } from "../driver/session.ts";

export interface Figure {
  readonly key: string;
  readonly title: string;
  readonly unit: string;
  readonly better: "higher" | "lower";
}

/** One thing that is measured: a table of the report. */
export interface Cell {
  readonly id: string;
  readonly title: string;
  /** The first one is what ratios and charts are about. */
  readonly figures: readonly Figure[];
  /** What the costs are divided by. Absent: none are counted. */
  readonly costsPer?: "job" | "second";
}

export interface Outcome {
  readonly figures: Readonly<Record<string, number>>;
  readonly cost?: Counters;
}

/** How large and how long. */
export interface Size {
  /** Seconds that a burn-down lasts, and that enqueueing lasts. */
  readonly burnSeconds: number;
  readonly enqueueSeconds: number;
  /** Jobs for a burn-down: at most so many, and not for longer than that. */
  readonly fillJobs: number;
  readonly fillSeconds: number;
  /** Single jobs for a worker that sleeps. */
  readonly wakeRate: number;
  readonly wakeSeconds: number;
  /** How long a worker may take to catch up with what was sent. */
  readonly patienceSeconds: number;
  readonly steadyRate: number;
  readonly steadySeconds: number;
  readonly floodJobs: number;
  readonly floodSeconds: number;
  readonly idleWorkers: number;
  readonly idleSeconds: number;
  /** What "many" is where there are many jobs behind or ahead. */
  readonly crowd: number;
}

/**
 * `all`: everybody, at their defaults, too. `best`: everybody at their best. `defaults`: everybody as it comes. `main`:
 * those that charts show.
 */
export type Field = "all" | "best" | "defaults" | "main" | "jobforge";

export interface Workload {
  readonly id: string;
  readonly cells: readonly Cell[];
  readonly field: Field;
  /** Who takes part when it has to be quick; false: it is left out then. */
  readonly quick: Field | false;
  readonly crowd?: (size: Size) => Crowd;
  /** Answers an outcome for each cell. */
  run(session: Session, size: Size): Promise<Readonly<Record<string, Outcome>>>;
}

export const rate: Figure = { key: "rate", title: "rate", unit: "jobs/s", better: "higher" };

export function wait(key: "p50" | "p95" | "p99" | "max"): Figure {
  return { key, title: key === "p50" ? "median" : key, unit: "ms", better: "lower" };
}
