/**
 * Ends of runs that the database has not confirmed. They are kept until it has: through lost connections and a database
 * that is down, however long. A batch that the database cannot read is halved until the faulty end is alone.
 */
import { Fifo } from "../fifo.ts";
import type { WorkerLog } from "../reporting/log.ts";
import type { Report } from "../reporting/report.ts";
import { endUnreadable } from "../running/ending.ts";
import type { HeldRuns } from "../running/held-runs.ts";
import type { Run } from "../running/run.ts";
import type { SettledRun } from "./protocol.ts";

export class Settlements {
  readonly #held: HeldRuns;
  readonly #report: Report;
  readonly #log: WorkerLog;
  readonly #pending = new Fifo<Run>();
  /** Batches that must be sent alone, because a larger one with them was refused. */
  readonly #suspects: (readonly Run[])[] = [];
  readonly #replaced = new WeakSet<Run>();
  #inFlight = 0;
  /** How many pending ends may make other jobs ready. */
  #freeing = 0;

  constructor(held: HeldRuns, report: Report, log: WorkerLog) {
    this.#held = held;
    this.#report = report;
    this.#log = log;
  }

  /** The number of ends that wait to be sent; a suspect batch counts as one. */
  get unsent(): number {
    return this.#pending.length + this.#suspects.length;
  }

  get isEmpty(): boolean {
    return this.unsent === 0 && this.#inFlight === 0;
  }

  /** Whether an end that waits to be sent may make other jobs ready. */
  get mayFreeJobs(): boolean {
    return this.#freeing > 0 || this.#suspects.length > 0;
  }

  add(run: Run): void {
    this.#pending.push(run);
    if (!run.endsQuietly) this.#freeing += 1;
  }

  /** The next ends to send. They return by `confirmed`, `failed` or `refused`. */
  take(most: number): { readonly runs: readonly Run[]; readonly alone: boolean } {
    const suspect = this.#suspects.shift();
    const runs = suspect ?? this.#takePending(most);
    this.#inFlight += runs.length;
    return { runs, alone: suspect !== undefined };
  }

  #takePending(most: number): readonly Run[] {
    const runs = this.#pending.take(most);
    for (const run of runs) if (!run.endsQuietly) this.#freeing -= 1;
    return runs;
  }

  /** The database has replied to each end, in the same order. */
  confirmed(runs: readonly Run[], settled: readonly SettledRun[]): void {
    this.#inFlight -= runs.length;
    for (let place = 0; place < runs.length; place += 1) {
      const run = runs[place];
      const reply = settled[place];
      if (run === undefined || reply === undefined) continue;
      this.#held.letGo(run);
      if (reply.outcome === "stale") this.#report.stale(run);
      else this.#report.settled(run, reply);
    }
  }

  /** The call failed for a reason that may pass: the same ends are sent again. */
  failed(runs: readonly Run[]): void {
    this.#inFlight -= runs.length;
    for (const run of runs) this.add(run);
  }

  /** The database refused the content of the call: these ends, unless a claim was part of the call. */
  refused(runs: readonly Run[], error: unknown, alone: boolean): void {
    this.#inFlight -= runs.length;
    const [only] = runs;
    if (!alone) this.#suspects.push(runs);
    else if (runs.length > 1) {
      const half = Math.ceil(runs.length / 2);
      this.#suspects.push(runs.slice(0, half), runs.slice(half));
    } else if (only !== undefined) this.#replace(only, error);
  }

  /** Replaces an end that the database cannot read. If it cannot read the replacement either, the run is dropped. */
  #replace(run: Run, error: unknown): void {
    this.#log.job("error", run, { err: error }, "The database cannot read the end of the run");
    if (this.#replaced.has(run)) {
      this.#held.letGo(run);
      this.#report.stale(run);
      return;
    }
    this.#replaced.add(run);
    endUnreadable(run, error);
    this.#suspects.push([run]);
  }
}
