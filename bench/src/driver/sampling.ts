/** Computes a rate from counts that are sampled at intervals. */
import type { Count } from "./protocol.ts";

/** Executions so far over all processes, and when the last of them ended, in epoch milliseconds. */
export interface Sample {
  readonly done: number;
  readonly last: number;
}

export function together(counts: readonly Count[]): Sample {
  return {
    done: counts.reduce((sum, { done }) => sum + done, 0),
    last: Math.max(0, ...counts.map(({ last }) => last)),
  };
}

/**
 * With fewer executions than this, the times between them do not give a meaningful rate: one job that takes
 * microseconds does not mean 60,000 jobs a second.
 */
const minimumForRate = 10;

/**
 * Executions per second.
 *
 * With very few executions, this is their number divided by `watched`, the seconds they were observed for. Otherwise it
 * is the rate between two samples: the first at least `warmUp` seconds after the first execution began, and the last
 * with a higher count. This excludes the time to start and stop, and jobs that were claimed but not yet run. If there
 * were too few jobs for a warm-up, all executions count, from the first on.
 */
export function rateOf(
  samples: readonly Sample[],
  first: number,
  { warmUp, watched }: { readonly warmUp: number; readonly watched: number },
): number {
  const news = samples.filter(({ done }, n) => done > (samples[n - 1]?.done ?? 0));
  const end = news.at(-1);
  if (end === undefined) return 0;
  if (end.done < minimumForRate) return end.done / watched;
  const warm = news.find(({ last }) => last >= first + warmUp * 1000);
  const start = warm !== undefined && end.done - warm.done >= end.done / 3 ? warm : { done: 0, last: first };
  const seconds = (end.last - start.last) / 1000;
  return seconds > 0 ? (end.done - start.done) / seconds : 0;
}
