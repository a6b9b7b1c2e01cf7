/** Takes jobs from BullMQ's queues: a fair share of each queue that may have some. */
import { randomBytes } from "node:crypto";
import type { JobDefinition } from "@jobforge/sdk-ts";
import type { ClaimedJob } from "@jobforge/worker-ts/runtime";
import type { RedisClient } from "../connection.ts";
import { readDocument } from "../document.ts";
import type { BullQueue, StoredJob } from "../queues.ts";
import { countsOf } from "../record.ts";
import { finish, type NextJob } from "./endings.ts";
import type { BullRun } from "./held.ts";

/** An empty queue is looked at again after this time, even if no notification says that it has a job. */
const lookAgainMs = 100;
/** The most jobs that one queue is asked for at the same time. */
const mostAtOnce = 64;

export interface Claimed {
  readonly runs: readonly BullRun[];
  /** Whether some jobs ended without running, so that more may be due. */
  readonly more: boolean;
  /** When the next job becomes due, in milliseconds. */
  readonly nextDueAt: number | undefined;
}

/** A queue, and whether it may have a job that is due. */
class Source {
  readonly queue: BullQueue;
  nextDueAt: number | undefined;
  #emptyAt = Number.NEGATIVE_INFINITY;

  constructor(queue: BullQueue) {
    this.queue = queue;
  }

  get mayHaveJobs(): boolean {
    const isDue = this.nextDueAt !== undefined && this.nextDueAt <= Date.now();
    return isDue || performance.now() - this.#emptyAt >= lookAgainMs;
  }

  /** A notification says that the queue has a job. */
  wake(): void {
    this.#emptyAt = Number.NEGATIVE_INFINITY;
  }

  /** The queue had no job that is due. */
  noteEmpty(nextDueAt: number): void {
    this.#emptyAt = performance.now();
    this.nextDueAt = nextDueAt > 0 ? nextDueAt : undefined;
  }
}

export class Claims {
  readonly #client: RedisClient;
  readonly #workerId: string;
  readonly #process: string;
  readonly #definitions: ReadonlyMap<string, JobDefinition>;
  readonly #sources: readonly Source[];
  #tokens = 0;
  #turn = 0;

  constructor(
    client: RedisClient,
    workerId: string,
    queues: readonly BullQueue[],
    definitions: ReadonlyMap<string, JobDefinition>,
  ) {
    this.#client = client;
    this.#workerId = workerId;
    // The token of a lock is this text and a number. The random part tells apart two processes with one worker id.
    this.#process = `${workerId}:${randomBytes(4).toString("hex")}`;
    this.#definitions = definitions;
    this.#sources = queues.map((queue) => new Source(queue));
  }

  /** A notification says that the queue has a job. */
  wake(queue: BullQueue): void {
    this.#sources.find((source) => source.queue === queue)?.wake();
  }

  /**
   * Whether the end of a run of this queue may take the next job along. Not while other queues may have jobs: a queue
   * with many jobs would keep all slots for itself.
   */
  isOnlySource(queue: BullQueue): boolean {
    return this.#sources.every((source) => source.queue === queue || !source.mayHaveJobs);
  }

  /** Claims up to `limit` jobs of the types. */
  async claim(limit: number, types: readonly string[]): Promise<Claimed> {
    const open = this.#inTurn().filter(({ queue, mayHaveJobs }) => mayHaveJobs && types.includes(queue.type));
    const found: NextRun[] = [];
    let left = limit;
    // First a share of each queue, then what is left, from the queues that had all they were asked for.
    for (let round = open; round.length > 0 && left > 0; ) {
      const share = Math.max(1, Math.floor(left / round.length));
      const asked = round.slice(0, left);
      const taken = await Promise.all(asked.map((source) => this.#take(source, Math.min(share, mostAtOnce))));
      found.push(...taken.flatMap(({ runs }) => runs));
      left = limit - found.length;
      round = round.filter((_, place) => taken[place]?.isEmpty === false || place >= asked.length);
    }
    return await this.#sort(found);
  }

  /** What BullMQ returned together with the end of a run. */
  async accept(queue: BullQueue, token: string, next: NextJob): Promise<Claimed> {
    const source = this.#sources.find((each) => each.queue === queue);
    const run = source === undefined ? undefined : this.#read(source, next, token);
    return await this.#sort(run === undefined ? [] : [run]);
  }

  /** The sources, beginning with another one each time. */
  #inTurn(): readonly Source[] {
    this.#turn = (this.#turn + 1) % this.#sources.length;
    return [...this.#sources.slice(this.#turn), ...this.#sources.slice(0, this.#turn)];
  }

  async #take(
    source: Source,
    jobs: number,
  ): Promise<{ readonly runs: readonly NextRun[]; readonly isEmpty: boolean }> {
    const replies = await Promise.all(
      Array.from({ length: jobs }, async () => {
        this.#tokens += 1;
        const token = `${this.#process}:${this.#tokens}`;
        return this.#read(source, await source.queue.store.moveToActive(token, this.#workerId), token);
      }),
    );
    const runs = replies.filter((run) => run !== undefined);
    return { runs, isEmpty: runs.length < jobs };
  }

  #read(source: Source, reply: NextJob, token: string): NextRun | undefined {
    const [stored, id, , nextDueAt] = (reply ?? []) as [StoredJob | null, string, number, number];
    if (!stored) {
      source.noteEmpty(Number(nextDueAt ?? 0));
      return undefined;
    }
    source.wake();
    return { queue: source.queue, stored: { ...stored, id: String(id) }, token };
  }

  /** Ends the jobs that must not run, and returns the others as runs. */
  async #sort(found: readonly NextRun[]): Promise<Claimed> {
    const runs: BullRun[] = [];
    const ending: Promise<unknown>[] = [];
    for (const next of found) {
      const run = toRun(next);
      const verdict = verdictOn(run);
      if (verdict === undefined) runs.push(run);
      else ending.push(this.#end(run, verdict));
    }
    await Promise.all(ending);
    return { runs, more: ending.length > 0, nextDueAt: this.#nextDueAt() };
  }

  async #end(run: BullRun, verdict: Verdict): Promise<void> {
    const definition = this.#definitions.get(run.queue.type);
    // If this fails, the lock runs out and the next claim of the job tries again.
    await finish(this.#client, run, verdict, { definition, fetchNext: false }).catch(() => undefined);
  }

  #nextDueAt(): number | undefined {
    const times = this.#sources.map(({ nextDueAt }) => nextDueAt).filter((time) => time !== undefined);
    return times.length === 0 ? undefined : Math.min(...times);
  }
}

interface NextRun {
  readonly queue: BullQueue;
  readonly stored: StoredJob;
  readonly token: string;
}

function toRun({ queue, stored, token }: NextRun): BullRun {
  const document = readDocument(stored);
  const { attempts, counted } = countsOf(stored, document.earlier);
  return { id: stored.id, attempt: attempts, queue, stored, document, token, counted, isCanceled: false };
}

type Verdict = Omit<Parameters<typeof finish>[2], "end">;

/** How a job ends that must not run; undefined for all others. */
function verdictOn({ document, stored, counted }: BullRun): Verdict | undefined {
  if (document.canceled)
    return {
      status: "canceled",
      reason: "canceled",
      error: { name: "Canceled", message: "The job was canceled" },
    };
  if (document.expiresAt !== undefined && Date.parse(document.expiresAt) <= Date.now())
    return {
      status: "canceled",
      reason: "expired",
      error: { name: "Expired", message: "The job has expired" },
    };
  if (counted >= (stored.opts.attempts ?? 1)) {
    const message = "The lease of the last attempt ran out: its worker died or fell silent";
    return { status: "dead", reason: "crashed", error: { name: "LeaseLost", message } };
  }
  return undefined;
}

/** The job in the form in which workers take it. */
export function toClaimed({ queue, stored, document, attempt }: BullRun): ClaimedJob {
  const { tenantId, payload, priority, subject, tags, traceparent, createdAt } = document;
  return {
    id: stored.id,
    tenant_id: tenantId,
    type: queue.type,
    payload,
    priority,
    attempts: attempt,
    max_attempts: stored.opts.attempts ?? 1,
    run_at: new Date(stored.timestamp + (stored.opts.delay ?? 0)).toISOString(),
    created_at: createdAt ?? new Date(stored.timestamp).toISOString(),
    trace_id: randomBytes(16).toString("hex"),
    ...(subject === undefined ? {} : { subject }),
    ...(tags === undefined ? {} : { tags }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}
