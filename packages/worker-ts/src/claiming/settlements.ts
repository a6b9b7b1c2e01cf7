/**
 * Ends of runs that the kernel has not answered for. They are kept until it has: through lost connections and a database
 * that is down, however long. A batch that the kernel cannot read is halved until the end to blame is alone.
 */

import { Fifo } from "../fifo.ts";
import type { WorkerLog } from "../reporting/log.ts";
import { endUnreadable } from "../running/ending.ts";
import type { Run } from "../running/run.ts";
import type { SettledRun } from "./protocol.ts";

export interface SettlementEvents {
  /** The kernel has kept the run's end. */
  kept(run: Run, settled: SettledRun): void;
  /** The kernel refused it, or it can never be told: whatever it was is dropped. */
  dropped(run: Run): void;
}

export class Settlements {
  readonly #events: SettlementEvents;
  readonly #log: WorkerLog;
  readonly #pending = new Fifo<Run>();
  /** Batches that must go alone, because a larger one with them was refused. */
  readonly #suspects: (readonly Run[])[] = [];
  readonly #replaced = new WeakSet<Run>();
  #onTheirWay = 0;

  constructor(events: SettlementEvents, log: WorkerLog) {
    this.#events = events;
    this.#log = log;
  }

  /** Ends that wait to be sent. */
  get waiting(): number {
    return this.#pending.length + this.#suspects.length;
  }

  get isEmpty(): boolean {
    return this.waiting === 0 && this.#onTheirWay === 0;
  }

  add(run: Run): void {
    this.#pending.push(run);
  }

  /** The next ends to send. They come back by `answered` or `failed`. */
  take(most: number): { readonly runs: readonly Run[]; readonly alone: boolean } {
    const suspect = this.#suspects.shift();
    const runs = suspect ?? this.#pending.take(most);
    this.#onTheirWay += runs.length;
    return { runs, alone: suspect !== undefined };
  }

  /** The kernel's word for each, in their order. */
  answered(runs: readonly Run[], settled: readonly SettledRun[]): void {
    this.#onTheirWay -= runs.length;
    for (let place = 0; place < runs.length; place += 1) {
      const run = runs[place];
      const answer = settled[place];
      if (run === undefined || answer === undefined) continue;
      if (answer.outcome === "stale") this.#events.dropped(run);
      else this.#events.kept(run, answer);
    }
  }

  /** The call failed for a reason that may pass: the same ends are sent again. */
  failed(runs: readonly Run[]): void {
    this.#onTheirWay -= runs.length;
    for (const run of runs) this.#pending.push(run);
  }

  /** The call was refused for what it carried: these ends, unless it was a claim that went with them. */
  refused(runs: readonly Run[], error: unknown, alone: boolean): void {
    this.#onTheirWay -= runs.length;
    const [only] = runs;
    if (!alone) this.#suspects.push(runs);
    else if (runs.length > 1) {
      const half = Math.ceil(runs.length / 2);
      this.#suspects.push(runs.slice(0, half), runs.slice(half));
    } else if (only !== undefined) this.#replace(only, error);
  }

  #replace(run: Run, error: unknown): void {
    this.#log.job("error", run, { err: error }, "The end of the run cannot be told to the database");
    if (this.#replaced.has(run)) {
      this.#events.dropped(run);
      return;
    }
    this.#replaced.add(run);
    endUnreadable(run, error);
    this.#suspects.push([run]);
  }
}
