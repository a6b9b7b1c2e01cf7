/**
 * The worker's slots: at most `concurrency` handler calls at the same time, and of each type at most its cap. Jobs
 * start by priority and in turns of their tenants; a job whose type is at its cap lets the others pass. A batch is one
 * handler call and takes one slot.
 */
import { Fifo } from "../fifo.ts";
import { type HandledType, PerType } from "../handled-type.ts";
import type { Run } from "./run.ts";
import { Turns } from "./turns.ts";

/** What the slots know of one type. */
class TypeSlots {
  /** Handler calls in progress. */
  calls = 0;
  /** Claimed jobs that have not started. */
  unstarted = 0;
  /** Those of them that wait for the cap, or for the rest of their batch. */
  readonly queue = new Fifo<Run>();
  /** Whether more jobs are due that would fill up the incomplete batch. */
  expectsMore = false;

  /** When the first job of the queue was claimed; undefined when the queue is empty. */
  get claimedAt(): number | undefined {
    return this.queue.first?.claimedAt;
  }
}

export class Slots {
  readonly concurrency: number;
  readonly #perType: PerType<TypeSlots>;
  readonly #batched: readonly HandledType[];
  /** Jobs that wait for a slot only. */
  readonly #turns = new Turns();
  /** Types with jobs that wait for their cap or their batch. */
  readonly #waitingTypes = new Set<HandledType>();
  #calls = 0;
  /** Claimed jobs of types without batches that have not started. */
  #unstarted = 0;

  constructor(concurrency: number, types: readonly HandledType[]) {
    this.concurrency = concurrency;
    this.#perType = new PerType(types, () => new TypeSlots());
    this.#batched = types.filter((type) => type.batchSize > 1);
  }

  /** The number of free slots. */
  get available(): number {
    return this.concurrency - this.#calls;
  }

  /** The number of handler calls in progress. */
  get busy(): number {
    return this.#calls;
  }

  /** The number of slots that the claimed jobs which have not started will take. */
  get needed(): number {
    let slots = this.#unstarted;
    for (const type of this.#batched) slots += Math.ceil(this.unstarted(type) / type.batchSize);
    return slots;
  }

  /** Whether no handler call is in progress and no job waits. */
  get isEmpty(): boolean {
    return this.#calls === 0 && this.#turns.length === 0 && this.#waitingTypes.size === 0;
  }

  /** When the job that has waited longest for a slot was claimed; Infinity when none waits. */
  get waitingSince(): number {
    let since = this.#turns.waitingSince;
    for (const type of this.#waitingTypes) {
      const { expectsMore, claimedAt } = this.#perType.of(type);
      if (!expectsMore) since = Math.min(since, claimedAt ?? since);
    }
    return since;
  }

  /** The number of handler calls of the type in progress. */
  calls(type: HandledType): number {
    return this.#perType.of(type).calls;
  }

  /** The number of claimed jobs of the type that have not started. */
  unstarted(type: HandledType): number {
    return this.#perType.of(type).unstarted;
  }

  /** Whether an incomplete batch of the type waits for more jobs. */
  expectsMore(type: HandledType): boolean {
    return this.#perType.of(type).expectsMore;
  }

  /** Makes an incomplete batch of the type wait for more jobs, or start as it is. */
  expectMore(type: HandledType, isMoreDue: boolean): void {
    this.#perType.of(type).expectsMore = isMoreDue;
  }

  /** A claimed job waits for a slot. */
  add(run: Run): void {
    this.#count(run.type, 1);
    if (run.type.batchSize > 1) this.#waitForType(run);
    else this.#turns.push(run);
  }

  /** Takes a slot for the next handler call that may start, and returns its runs; undefined when none may start. */
  takeNext(): readonly Run[] | undefined {
    while (this.#calls < this.concurrency) {
      const type = this.#waitingTypes.size === 0 ? undefined : this.#nextWaitingType();
      const run = this.#turns.first;
      if (type !== undefined && this.#isOlder(type, run)) return this.#occupyQueued(type);
      if (run === undefined) return undefined;
      this.#turns.shift();
      const { calls, queue } = this.#perType.of(run.type);
      if (calls < run.type.cap && queue.length === 0) return this.#occupy(run.type, [run]);
      this.#waitForType(run);
    }
    return undefined;
  }

  /** A handler call has ended, or is no longer waited for: its slot becomes free. */
  free(type: HandledType): void {
    this.#calls -= 1;
    this.#perType.of(type).calls -= 1;
  }

  /** Takes out every job that has not started. */
  takeUnstarted(): Run[] {
    const runs = this.#turns.takeAll();
    for (const type of this.#waitingTypes) {
      const { queue } = this.#perType.of(type);
      runs.push(...queue.take(queue.length));
    }
    this.#waitingTypes.clear();
    for (const run of runs) this.#count(run.type, -1);
    return runs;
  }

  #waitForType(run: Run): void {
    this.#perType.of(run.type).queue.push(run);
    this.#waitingTypes.add(run.type);
  }

  /** The type whose queued jobs may start, and have waited longest. */
  #nextWaitingType(): HandledType | undefined {
    let next: HandledType | undefined;
    let since = Number.POSITIVE_INFINITY;
    for (const type of this.#waitingTypes) {
      const claimedAt = this.#perType.of(type).claimedAt ?? since;
      if (claimedAt >= since || !this.#mayStart(type)) continue;
      next = type;
      since = claimedAt;
    }
    return next;
  }

  /** Whether a call for the type's queued jobs may start, as far as the type is concerned. */
  #mayStart(type: HandledType): boolean {
    const { calls, queue, expectsMore } = this.#perType.of(type);
    return calls < type.cap && (queue.length >= type.batchSize || !expectsMore);
  }

  /** Whether the type's queued jobs were claimed before the run, or together with it. */
  #isOlder(type: HandledType, run: Run | undefined): boolean {
    return (this.#perType.of(type).claimedAt ?? 0) <= (run?.claimedAt ?? Number.POSITIVE_INFINITY);
  }

  #occupyQueued(type: HandledType): readonly Run[] {
    const { queue } = this.#perType.of(type);
    const runs = queue.take(type.batchSize);
    if (queue.length === 0) this.#waitingTypes.delete(type);
    return this.#occupy(type, runs);
  }

  #occupy(type: HandledType, runs: readonly Run[]): readonly Run[] {
    this.#calls += 1;
    this.#perType.of(type).calls += 1;
    this.#count(type, -runs.length);
    return runs;
  }

  #count(type: HandledType, jobs: number): void {
    this.#perType.of(type).unstarted += jobs;
    if (type.batchSize === 1) this.#unstarted += jobs;
  }
}
