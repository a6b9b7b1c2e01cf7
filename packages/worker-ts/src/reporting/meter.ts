/**
 * What a worker measures of itself: how long the database takes to answer. Plain numbers, so that any metrics library can show them; they also
 * go with every heartbeat, so that a server can show those of all workers.
 */
import type { Tally } from "./report.ts";

/** Limits of the buckets, in seconds; the last bucket is for what took longer. */
export const latencyBuckets: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** Calls of one bucket: how many, and how many seconds all of them took. */
export type LatencyBucket = readonly [count: number, seconds: number];

export interface WorkerMetrics {
  /** Calls that asked for jobs. A call that also settled counts in `settle`, too. */
  readonly claim: readonly LatencyBucket[];
  /** Calls that ended runs. */
  readonly settle: readonly LatencyBucket[];
  /** Runs since the worker was started, by what became of them. */
  readonly runs: Readonly<Tally>;
  /** When the database last heard of the worker. */
  readonly heardAt: Date | undefined;
}

export class Meter {
  readonly #claim = new Latency();
  readonly #settle = new Latency();
  readonly runs: Tally = {
    claimed: 0,
    succeeded: 0,
    retried: 0,
    failed: 0,
    deferred: 0,
    released: 0,
    canceled: 0,
    stale: 0,
  };
  heardAt: Date | undefined;

  /** The database has answered a call that ended so many runs, and claimed or not. */
  noteCall(ms: number, ended: number, claimed: boolean): void {
    if (claimed) this.#claim.note(ms / 1000);
    if (ended > 0) this.#settle.note(ms / 1000);
  }

  read(): WorkerMetrics {
    return {
      claim: this.#claim.read(),
      settle: this.#settle.read(),
      runs: { ...this.runs },
      heardAt: this.heardAt,
    };
  }

  /** What heartbeats carry. */
  report(): object {
    return { claim: this.#claim.read(), settle: this.#settle.read(), stale: this.runs.stale };
  }
}

class Latency {
  readonly #counts: number[] = [...latencyBuckets, Number.POSITIVE_INFINITY].map(() => 0);
  readonly #seconds: number[] = this.#counts.map(() => 0);

  note(seconds: number): void {
    const found = latencyBuckets.findIndex((limit) => seconds <= limit);
    const place = found < 0 ? latencyBuckets.length : found;
    this.#counts[place] = (this.#counts[place] ?? 0) + 1;
    this.#seconds[place] = (this.#seconds[place] ?? 0) + seconds;
  }

  read(): LatencyBucket[] {
    // To the microsecond, so that heartbeats are short.
    return this.#counts.map((count, place) => [count, Math.round((this.#seconds[place] ?? 0) * 1e6) / 1e6]);
  }
}
