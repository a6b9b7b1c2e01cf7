/** Types of a workload: a small module that says what is measured, with which contestants, and how. */
import type { Crowd } from "../driver/arena.ts";
import type { Counters } from "../driver/costs.ts";
import type { Session } from "../driver/session.ts";

export interface Figure {
  readonly key: string;
  readonly title: string;
  readonly unit: string;
  readonly better: "higher" | "lower";
}

/** A measurement with one table in the report. */
export interface Cell {
  readonly id: string;
  readonly title: string;
  /** Charts show the first one. */
  readonly figures: readonly Figure[];
  /** The unit that costs are divided by. If absent, no costs are shown. */
  readonly costsPer?: "job" | "second";
}

export interface Outcome {
  readonly figures: Readonly<Record<string, number>>;
  readonly cost?: Counters;
}

/** The sizes and durations of workloads. */
export interface Size {
  /** The maximum duration of a burn-down. */
  readonly burnSeconds: number;
  /** The duration of enqueueing one by one. */
  readonly enqueueSeconds: number;
  /** The maximum number of jobs to enqueue for a burn-down. */
  readonly fillJobs: number;
  /** The maximum time to enqueue the jobs of a burn-down. */
  readonly fillSeconds: number;
  /** Jobs per second for an idle worker. */
  readonly wakeRate: number;
  readonly wakeSeconds: number;
  /** How long a worker may take to run the jobs that were sent. */
  readonly patienceSeconds: number;
  readonly steadySeconds: number;
  readonly floodJobs: number;
  readonly floodSeconds: number;
  readonly idleWorkers: number;
  readonly idleSeconds: number;
  /** The number of jobs in workloads with many finished, scheduled or waiting jobs. */
  readonly crowd: number;
}

/**
 * The contestants that take part. `all`: all, with both their best and their default settings. `best`: all with their
 * best settings. `defaults`: all with their default settings. `main`: those that line charts show.
 */
export type Field = "all" | "best" | "defaults" | "main" | "jobforge";

export interface Workload {
  readonly id: string;
  readonly cells: readonly Cell[];
  readonly field: Field;
  /** The contestants that take part in a quick run. False: a quick run skips this workload. */
  readonly quick: Field | false;
  readonly crowd?: (size: Size) => Crowd;
  /** Resolves to the outcome of each cell, keyed by its id. */
  run(session: Session, size: Size): Promise<Readonly<Record<string, Outcome>>>;
}

export const rate: Figure = { key: "rate", title: "rate", unit: "jobs/s", better: "higher" };

export function wait(key: "p50" | "p95" | "p99" | "max"): Figure {
  return { key, title: key === "p50" ? "median" : key, unit: "ms", better: "lower" };
}
