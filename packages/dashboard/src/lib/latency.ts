/** How long the database took to respond to a worker, from the bins of its heartbeat. */

/** The upper limits of the bins, in milliseconds. The last bin has the calls that took longer. */
const limits = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, Number.POSITIVE_INFINITY];

export interface Latency {
  readonly calls: number;
  readonly averageMs: number;
  /** 95 % of the calls took at most this long. Infinite if that is more than the largest limit. */
  readonly p95Ms: number;
}

/** Undefined if it is not a list of pairs of a count and seconds, or has no call. */
export function latencyOf(bins: unknown): Latency | undefined {
  if (!Array.isArray(bins)) return undefined;
  const pairs = bins.map((bin): readonly [number, number] =>
    Array.isArray(bin) ? [Number(bin[0]), Number(bin[1])] : [Number.NaN, Number.NaN],
  );
  const calls = pairs.reduce((sum, [count]) => sum + count, 0);
  const seconds = pairs.reduce((sum, [, each]) => sum + each, 0);
  if (!(calls > 0) || !Number.isFinite(seconds)) return undefined;
  let below = 0;
  const place = pairs.findIndex(([count]) => {
    below += count;
    return below >= calls * 0.95;
  });
  return {
    calls,
    averageMs: (seconds * 1000) / calls,
    p95Ms: limits[place] ?? Number.POSITIVE_INFINITY,
  };
}
