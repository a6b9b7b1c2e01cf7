/** Takes jobs from BullMQ's queues: a fair share of each queue that may have some. */
import { randomBytes, randomUUID } from "node:crypto";
import type { JobDefinition } from "@jobforge/sdk-ts";
import type { ClaimedJob } from "@jobforge/worker-ts/runtime";
import type { RedisClient } from "../connection.ts";
import { readDocument } from "../document.ts";
import { claimMany, mostPerScript, type NextJob } from "../many.ts";
import type { BullQueue, StoredJob } from "../queues.ts";
import { countsOf, lossesInARow } from "../record.ts";
import { finish } from "./endings.ts";
import type { BullRun } from "./held.ts";
import { hasLosses, recordOf } from "./notes.ts";

/** An empty queue is looked at again after this time, even if no notification says that it has a job. */
const lookAgainMs = 100;
/** A job whose workers were lost this often in a row kills its workers. */
const mostLosses = 3;

/** A job that BullMQ took from the queue of a run, together with the end of that run. */
export interface Next {
  readonly queue: BullQueue;
  readonly token: string;
  readonly reply: NextJob;
}

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
  readonly #byQueue: ReadonlyMap<BullQueue, Source>;
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
    this.#byQueue = new Map(this.#sources.map((source) => [source.queue, source]));
  }

  /** A notification says that the queue has a job. */
  wake(queue: BullQueue): void {
    this.#byQueue.get(queue)?.wake();
  }

  /**
   * Returns whether the end of a run of a queue may take the next job along. Not while other queues may have jobs: a
   * queue with many jobs would keep all slots for itself.
   */
  onlySource(): (queue: BullQueue) => boolean {
    const [first, second] = this.#sources.filter(({ mayHaveJobs }) => mayHaveJobs);
    return (queue) => second === undefined && (first === undefined || first.queue === queue);
  }

  /** Claims up to `limit` jobs of the types. */
  async claim(limit: number, types: readonly string[]): Promise<Claimed> {
    const open = this.#inTurn().filter(({ queue, mayHaveJobs }) => mayHaveJobs && types.includes(queue.type));
    const found: NextRun[] = [];
    let left = limit;
    // A queue that has few jobs gets one call.
    let most = mostPerScript;
    // First a share of each queue, then what is left, from the queues that had all they were asked for.
    for (let round = open; round.length > 0 && left > 0; ) {
      const share = Math.max(1, Math.floor(left / round.length));
      const asked = round.slice(0, left);
      const taken = await Promise.all(asked.map((source) => this.#take(source, Math.min(share, most))));
      found.push(...taken.flatMap(({ runs }) => runs));
      left = limit - found.length;
      most = left;
      round = round.filter((_, place) => taken[place]?.isEmpty === false || place >= asked.length);
    }
    return await this.#sort(found);
  }

  /** What BullMQ returned together with the ends of runs. */
  async accept(nexts: readonly Next[]): Promise<Claimed> {
    const found = nexts.map(({ queue, token, reply }) => {
      const source = this.#byQueue.get(queue);
      return source === undefined ? undefined : this.#read(source, reply, token);
    });
    return await this.#sort(found.filter((run) => run !== undefined));
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
    const parts: Promise<readonly NextRun[]>[] = [];
    for (let asked = 0; asked < jobs; asked += mostPerScript)
      parts.push(this.#takePart(source, Math.min(mostPerScript, jobs - asked)));
    const runs = (await Promise.all(parts)).flat();
    return { runs, isEmpty: runs.length < jobs };
  }

  async #takePart(source: Source, jobs: number): Promise<readonly NextRun[]> {
    const { queue } = source;
    const tokens = Array.from({ length: jobs }, () => {
      this.#tokens += 1;
      return `${this.#process}:${this.#tokens}`;
    });
    const call = { workerId: this.#workerId, leaseMs: queue.leaseMs, tokens };
    const replies = await claimMany(this.#client, queue.store, call);
    const runs = replies.map((reply, place) => this.#read(source, reply, tokens[place] ?? ""));
    return runs.filter((run) => run !== undefined);
  }

  #read(source: Source, reply: NextJob, token: string): NextRun | undefined {
    const [stored, id, , nextDueAt] = reply as [StoredJob | null, string, number, number];
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
      const verdict = verdictOn(run) ?? (hasLosses(run) ? await this.#verdictAfterLoss(run) : undefined);
      if (verdict === undefined) runs.push(run);
      else ending.push(this.#end(run, verdict));
    }
    await Promise.all(ending);
    return { runs, more: ending.length > 0, nextDueAt: this.#nextDueAt() };
  }

  /** How a job ends that was lost: it was canceled, has no attempt left, or kills its workers. */
  async #verdictAfterLoss(run: BullRun): Promise<Verdict | undefined> {
    const { stored, document, counted } = run;
    const { record, isCanceled } = await recordOf(this.#client, run);
    if (isCanceled) return { status: "canceled", reason: "canceled", error: leaseLost };
    const losses = lossesInARow(stored, document.earlier, record);
    const isExhausted = counted >= (stored.opts.attempts ?? 1);
    if (!isExhausted && losses < mostLosses) return undefined;
    return {
      status: "dead",
      reason: losses >= mostLosses ? "crashed" : "exhausted",
      error: leaseLost,
    };
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

const leaseLost = {
  name: "LeaseLost",
  message: "The lease of the run ran out: its worker died or fell silent",
};

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

/** How a job ends that was canceled or has expired; undefined for all others. */
function verdictOn({ document }: BullRun): Verdict | undefined {
  if (document.canceled) return { status: "canceled", reason: "canceled", error: undefined };
  const { expiresAt } = document;
  if (expiresAt !== undefined && Date.parse(expiresAt) <= Date.now())
    return { status: "canceled", reason: "expired", error: undefined };
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
    trace_id: randomUUID().replaceAll("-", ""),
    ...(subject === undefined ? {} : { subject }),
    ...(tags === undefined ? {} : { tags }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}
