/** From counts taken now and then to a rate. */
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

/** Of fewer executions than this no rate can be read from the times between them: one job, done in microseconds, is no 60,000 a second. */
const FEW = 10;

/**
 * Executions a second. `watched` is for how many seconds: of few executions those in this time. Of more, those between two samples: from the first that lies at least `warmUp` seconds behind the first execution, to the last that
 * brought something new. How long starting and stopping take is not in it, nor what was claimed but not yet run. When there was too
 * little to do for that, all there is counts, from the first execution on.
 */
export function rateOf(
  samples: readonly Sample[],
  first: number,
  { warmUp, watched }: { readonly warmUp: number; readonly watched: number },
): number {
  const news = samples.filter(({ done }, n) => done > (samples[n - 1]?.done ?? 0));
  const end = news.at(-1);
  if (end === undefined) return 0;
  if (end.done < FEW) return end.done / watched;
  const warm = news.find(({ last }) => last >= first + warmUp * 1000);
  const start = warm !== undefined && end.done - warm.done >= end.done / 3 ? warm : { done: 0, last: first };
  const seconds = (end.last - start.last) / 1000;
  return seconds > 0 ? (end.done - start.done) / seconds : 0;
}
