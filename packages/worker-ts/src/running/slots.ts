/**
 * The worker's slots: at most `concurrency` handler calls at once, and at most a type's cap of its own. Jobs start by priority and in
 * turns of their tenants; one whose type is at its cap lets the others pass. A batch is one call and takes one slot.
 */
import type { HandledType } from "../handled-type.ts";
import type { Run } from "./run.ts";
import { Turns } from "./turns.ts";

export class Slots {
  readonly concurrency: number;
  readonly #start: (type: HandledType, runs: readonly Run[]) => void;
  readonly #queue = new Turns();
  /** Types with jobs in `waiting`. */
  readonly #held = new Set<HandledType>();
  readonly #batched: readonly HandledType[];
  #calls = 0;
  /** Claimed jobs of types without batches that have not started. */
  #unstarted = 0;

  constructor(
    concurrency: number,
    types: readonly HandledType[],
    start: (type: HandledType, runs: readonly Run[]) => void,
  ) {
    this.concurrency = concurrency;
    this.#batched = types.filter((type) => type.batchSize > 1);
    this.#start = start;
  }

  get free(): number {
    return this.concurrency - this.#calls;
  }

  get busy(): number {
    return this.#calls;
  }

  /** Claimed jobs that have not started, in slots that they will take. */
  get waiting(): number {
    let slots = this.#unstarted;
    for (const type of this.#batched) slots += Math.ceil(type.unstarted / type.batchSize);
    return slots;
  }

  get isEmpty(): boolean {
    return this.#calls === 0 && this.#queue.length === 0 && this.#held.size === 0;
  }

  /** When the job was claimed that has waited longest for a slot; Infinity when none waits. */
  get waitingSince(): number {
    let since = this.#queue.waitingSince;
    for (const type of this.#held) {
      if (!type.hasMore) since = Math.min(since, type.waiting.first?.claimedAt ?? since);
    }
    return since;
  }

  add(run: Run): void {
    this.#count(run.type, 1);
    if (run.type.batchSize > 1) this.#hold(run);
    else this.#queue.push(run);
  }

  /** Starts what may start. */
  fill(): void {
    while (this.#calls < this.concurrency) {
      const type = this.#held.size === 0 ? undefined : this.#nextHeld();
      const run = this.#queue.first;
      if (
        type !== undefined &&
        (type.waiting.first?.claimedAt ?? 0) <= (run?.claimedAt ?? Number.POSITIVE_INFINITY)
      ) {
        this.#open(type, type.waiting.take(type.batchSize));
        if (type.waiting.length === 0) this.#held.delete(type);
      } else if (run !== undefined) {
        this.#queue.shift();
        if (run.type.calls < run.type.cap && run.type.waiting.length === 0) this.#open(run.type, [run]);
        else this.#hold(run);
      } else return;
    }
  }

  /** A handler call has ended, or is no longer waited for. */
  release(type: HandledType): void {
    this.#calls -= 1;
    type.calls -= 1;
  }

  /** Takes back every job that has not started. */
  takeUnstarted(): Run[] {
    const runs = this.#queue.takeAll();
    for (const type of this.#held) runs.push(...type.waiting.take(type.waiting.length));
    this.#held.clear();
    for (const run of runs) this.#count(run.type, -1);
    return runs;
  }

  #hold(run: Run): void {
    run.type.waiting.push(run);
    this.#held.add(run.type);
  }

  /** The type whose held jobs may start, and have waited longest. */
  #nextHeld(): HandledType | undefined {
    let next: HandledType | undefined;
    let since = Number.POSITIVE_INFINITY;
    for (const type of this.#held) {
      const claimedAt = type.waiting.first?.claimedAt ?? since;
      if (claimedAt >= since || !type.mayStart) continue;
      next = type;
      since = claimedAt;
    }
    return next;
  }

  #open(type: HandledType, runs: readonly Run[]): void {
    this.#calls += 1;
    type.calls += 1;
    this.#count(type, -runs.length);
    this.#start(type, runs);
  }

  #count(type: HandledType, jobs: number): void {
    type.unstarted += jobs;
    if (type.batchSize === 1) this.#unstarted += jobs;
  }
}
