/**
 * Workers start and stop, and each counts from its own start. A Prometheus counter must never fall, so this file
 * computes how much each worker's report has grown since the previous one.
 */
import type { LatencyBin } from "@jobforge/worker-ts";

/** A worker's report about itself. Not validated: any login with the worker role can send anything. */
export interface WorkerReport {
  /** Identifies the process, not only the worker. */
  readonly worker: string;
  readonly metrics: unknown;
}

export interface Growth {
  readonly claim: readonly LatencyBin[];
  readonly settle: readonly LatencyBin[];
  readonly stale: number;
  readonly handed: number;
}

export class WorkerReports {
  #known: ReadonlyMap<string, Growth> | undefined;

  /** How much each report has grown. Empty for the first reports: counting begins with them. */
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
  const { claim, settle, stale, handed } = (metrics ?? {}) as Record<string, unknown>;
  return {
    claim: readBins(claim),
    settle: readBins(settle),
    stale: readNumber(stale),
    handed: readNumber(handed),
  };
}

const maxBins = 100;

function readBins(value: unknown): LatencyBin[] {
  if (!Array.isArray(value) || value.length > maxBins) return [];
  return value.map((bin: unknown) => {
    const [count, seconds] = Array.isArray(bin) ? bin : [];
    return [readNumber(count), readNumber(seconds)] as const;
  });
}

function readNumber(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}

function difference(now: Growth, before: Growth): Growth {
  const subtract = (bins: readonly LatencyBin[], earlier: readonly LatencyBin[]): LatencyBin[] =>
    bins.map(([count, seconds], place) => {
      const [earlierCount, earlierSeconds] = earlier[place] ?? [0, 0];
      return [Math.max(count - earlierCount, 0), Math.max(seconds - earlierSeconds, 0)];
    });
  return {
    claim: subtract(now.claim, before.claim),
    settle: subtract(now.settle, before.settle),
    stale: Math.max(now.stale - before.stale, 0),
    handed: Math.max(now.handed - before.handed, 0),
  };
}
