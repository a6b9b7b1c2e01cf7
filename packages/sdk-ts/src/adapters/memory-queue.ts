/** The queue of the processing-jobs design in memory, for tests and trials. The same stages run on it unchanged. */
import { randomUUID } from "node:crypto";
import { retryPresets } from "../words.ts";
import { HeldJobs } from "./held.ts";
import type { NewQueueJob, QueueJob, StageOptions, StageQueue } from "./processing.ts";
import { timeIn } from "./seconds.ts";
import { childKey, parentOf, type StageHold } from "./stage-run.ts";

export interface MemoryJobQueueOptions {
  /** The clock, in milliseconds. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** A row of the design's table. */
export interface MemoryQueueJob extends QueueJob {
  status: "queued" | "processing" | "done" | "failed";
  /** In milliseconds. */
  available_at: number;
  last_error: string | null;
}

export class MemoryJobQueue implements StageQueue {
  readonly #now: () => number;
  readonly #rows: MemoryQueueJob[] = [];
  readonly #held = new HeldJobs<StageHold>();
  /** The keys of jobs that runs have enqueued. As on JobForge, a repeated stage enqueues the next stage once. */
  readonly #keys = new Set<string>();

  constructor({ now = Date.now }: MemoryJobQueueOptions = {}) {
    this.#now = now;
  }

  /** Copies of all rows, in the order in which they were enqueued. */
  get jobs(): readonly MemoryQueueJob[] {
    return structuredClone(this.#rows);
  }

  /** Creates each job that a run enqueues once, by the same rules as `JobForgeJobQueue`. */
  async enqueue(job: NewQueueJob, { parent, delaySeconds = 0 }: StageOptions = {}): Promise<void> {
    // Plain JavaScript may leave max_attempts out, because the design's table has a default.
    const { org_id, call_id, stage, payload, max_attempts = retryPresets.processing.maxAttempts } = job;
    const available_at = this.#timeIn(delaySeconds, "delaySeconds");
    const kept = structuredClone({ org_id, call_id, stage, payload, max_attempts });
    const run = parentOf(this.#held, job, parent);
    if (run !== undefined) {
      const { key } = childKey(run, stage);
      if (this.#keys.has(key)) return;
      this.#keys.add(key);
    }
    this.#rows.push({
      ...kept,
      id: randomUUID(),
      attempts: 0,
      status: "queued",
      available_at,
      last_error: null,
    });
  }

  async claim(workerId: string): Promise<QueueJob | null> {
    const now = this.#now();
    const [next] = this.#rows
      .filter(({ status, available_at }) => status === "queued" && available_at <= now)
      .sort((a, b) => a.available_at - b.available_at);
    if (next === undefined) return null;
    next.status = "processing";
    const { status: _, available_at: __, last_error: ___, ...row } = next;
    this.#held.add(row.id, { job: row, workerId, attempt: row.attempts + 1, enqueued: new Map() });
    return structuredClone(row);
  }

  async complete(jobId: string): Promise<void> {
    await this.#held.end(jobId, async ({ deferredBySeconds }) => {
      const row = this.#row(jobId);
      if (deferredBySeconds === undefined) row.status = "done";
      else this.#again(row, this.#timeIn(deferredBySeconds, "delaySeconds"));
    });
  }

  async fail(jobId: string, error: string, backoffSeconds: number): Promise<void> {
    await this.#held.end(jobId, async () => {
      const row = this.#row(jobId);
      const availableAt = this.#timeIn(backoffSeconds, "backoffSeconds");
      row.last_error = error;
      this.#again(row, availableAt);
    });
  }

  async defer(jobId: string, delaySeconds: number): Promise<void> {
    this.#timeIn(delaySeconds, "delaySeconds");
    this.#held.get(jobId).deferredBySeconds = delaySeconds;
  }

  /** By the rule of the design, the last execution leaves `available_at` as it was. */
  #again(row: MemoryQueueJob, availableAt: number): void {
    row.attempts += 1;
    const exhausted = row.attempts >= row.max_attempts;
    row.status = exhausted ? "failed" : "queued";
    if (!exhausted) row.available_at = availableAt;
  }

  #timeIn(seconds: number, field: string): number {
    return timeIn(seconds, field, this.#now()).getTime();
  }

  #row(jobId: string): MemoryQueueJob {
    const row = this.#rows.find(({ id }) => id === jobId);
    if (row === undefined) throw new Error(`Job ${jobId} is missing`);
    return row;
  }
}
