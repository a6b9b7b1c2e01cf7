/**
 * Workers count from their start, and come and go. A counter that is shown must never fall, so what is added up is how much each report grew
 * since the one before.
 */
import type { LatencyBin as LatencyBucket } from "@jobforge/worker-ts";

/** What a worker said of itself, as it came: whoever may be a worker may say anything. */
export interface WorkerReport {
  /** A name of the process, not only of the worker. */
  readonly worker: string;
  readonly metrics: unknown;
}

export interface Growth {
  readonly claim: readonly LatencyBucket[];
  readonly settle: readonly LatencyBucket[];
  readonly stale: number;
}

export class WorkerReports {
  #known: ReadonlyMap<string, Growth> | undefined;

  /** How much each report has grown. The first time nothing has: it is from then on that is counted. */
  growth(reports: readonly WorkerReport[]): Growth[] {
    const before = this.#known;
    const now = new Map(reports.map(({ worker, metrics }) => [worker, readReport(metrics)]));
    this.#known = now;
    if (before === undefined) return [];
    return [...now].map(([worker, report]) => {
      const known = before.get(worker);
      return known === undefined ? report : difference(report, known);
    });
  }
}

function readReport(metrics: unknown): Growth {
  const { claim, settle, stale } = (metrics ?? {}) as Record<string, unknown>;
  return { claim: readBuckets(claim), settle: readBuckets(settle), stale: readNumber(stale) };
}

const MOST_BUCKETS = 100;

function readBuckets(value: unknown): LatencyBucket[] {
  if (!Array.isArray(value) || value.length > MOST_BUCKETS) return [];
  return value.map((bucket: unknown) => {
    const [count, seconds] = Array.isArray(bucket) ? bucket : [];
    return [readNumber(count), readNumber(seconds)] as const;
  });
}

function readNumber(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}

function difference(now: Growth, before: Growth): Growth {
  const less = (buckets: readonly LatencyBucket[], earlier: readonly LatencyBucket[]): LatencyBucket[] =>
    buckets.map(([count, seconds], place) => {
      const [was, took] = earlier[place] ?? [0, 0];
      return [Math.max(count - was, 0), Math.max(seconds - took, 0)];
    });
  return {
    claim: less(now.claim, before.claim),
    settle: less(now.settle, before.settle),
    stale: Math.max(now.stale - before.stale, 0),
  };
}
