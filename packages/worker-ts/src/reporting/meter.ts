/**
 * A worker's own metrics: how long the database takes to respond, and how runs ended. They are plain numbers, so that
 * any metrics library can show them. Every heartbeat carries them, so that a server can show those of all workers.
 */
import type { Tally } from "./report.ts";

/** The upper limits of the bins, in seconds. One more bin counts the calls that took longer. */
export const latencyBins: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** The calls in one bin: their number, and the seconds that all of them took. */
export type LatencyBin = readonly [count: number, seconds: number];

export interface WorkerMetrics {
  /** Calls that claimed. A call that also settled counts in `settle` as well. */
  readonly claim: readonly LatencyBin[];
  /** Calls that settled runs. */
  readonly settle: readonly LatencyBin[];
  /** Runs since the worker was started, by how they ended. */
  readonly runs: Readonly<Tally>;
  /** Jobs that enqueues have handed to the worker, without a claim. They count in `runs.claimed` as well. */
  readonly handed: number;
  /** When the database last responded to a heartbeat. */
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
  #handed = 0;
  #heardAt: Date | undefined;

  /** The database has responded to a call that settled `ends` runs, and may have claimed. */
  noteCall(ms: number, ends: number, hasClaimed: boolean): void {
    if (hasClaimed) this.#claim.note(ms / 1000);
    if (ends > 0) this.#settle.note(ms / 1000);
  }

  /** Enqueues have handed jobs to the worker. */
  noteHanded(jobs: number): void {
    this.#handed += jobs;
  }

  /** The database has responded to a heartbeat. */
  noteHeartbeat(): void {
    this.#heardAt = new Date();
  }

  read(): WorkerMetrics {
    return {
      claim: this.#claim.read(),
      settle: this.#settle.read(),
      runs: { ...this.runs },
      handed: this.#handed,
      heardAt: this.#heardAt,
    };
  }

  /** What heartbeats carry. */
  report(): object {
    return {
      claim: this.#claim.read(),
      settle: this.#settle.read(),
      stale: this.runs.stale,
      handed: this.#handed,
    };
  }
}

class Latency {
  readonly #counts: number[] = [...latencyBins, Number.POSITIVE_INFINITY].map(() => 0);
  readonly #seconds: number[] = this.#counts.map(() => 0);

  note(seconds: number): void {
    const found = latencyBins.findIndex((limit) => seconds <= limit);
    const place = found < 0 ? latencyBins.length : found;
    this.#counts[place] = (this.#counts[place] ?? 0) + 1;
    this.#seconds[place] = (this.#seconds[place] ?? 0) + seconds;
  }

  read(): LatencyBin[] {
    // Rounded to microseconds, to keep heartbeats short.
    return this.#counts.map((count, place) => [count, Math.round((this.#seconds[place] ?? 0) * 1e6) / 1e6]);
  }
}
