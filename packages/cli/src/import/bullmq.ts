/**
 * BullMQ on Redis. It is read and changed with the BullMQ of the application, which knows the keys of its version.
 * Its lower priorities come first, ours last. Redis and Postgres cannot commit together, so jobs are enqueued here
 * first and removed there afterwards. Queues are paused meanwhile: no worker can start a job between the two. A
 * second import after a crash finds the jobs by their idempotency keys, and continues the queues that the first one
 * has paused.
 */
import type { Job, JobSchedulerJson, Queue } from "bullmq";
import { NoRedisError, UsageError } from "../failures.ts";
import { loadBullmq } from "./bullmq-package.ts";
import type { Census, Source, SourceJob, SourceOptions, SourceSchedule, TakeOver } from "./source.ts";

/**
 * The states of jobs that wait, in BullMQ's words. Delayed jobs come first: one that becomes due while they are read is
 * then read twice, and not missed.
 */
const waitingIn = ["delayed", "prioritized", "waiting"] as const;
/** BullMQ multiplies times by this, to keep the order of jobs that are due in the same millisecond. */
const scoresPerMs = 0x1000;
/** Marks a queue that an import has paused. The value is not read. */
const pausedKey = "jobforge-import";

export async function openBullmq(options: SourceOptions): Promise<Source> {
  const { from, schema: prefix = "bull" } = options;
  if (from === undefined) throw new UsageError("Pass the URL of Redis: --from redis://HOST:PORT");
  if (!/^rediss?:\/\//.test(from))
    throw new UsageError("The URL of Redis must start with redis:// or rediss://.");
  const { Queue, Redis } = await loadBullmq();
  const connection = new Redis(from, { maxRetriesPerRequest: 1, lazyConnect: true });
  // The loss of the connection shows in the next call. Why it cannot be opened is known only here.
  let trouble: unknown;
  connection.on("error", (error) => {
    trouble = error;
  });
  try {
    await connection.connect();
    const names = await queuesIn(connection, prefix);
    const queues = names.map((name) => new Queue(name, { connection, prefix }));
    for (const queue of queues) queue.on("error", () => undefined);
    return new BullmqSource(queues, connection, prefix, options);
  } catch (error) {
    connection.disconnect();
    throw new NoRedisError(trouble ?? error, "Check --from, and check that the server is running.");
  }
}

/** The commands of Redis that an import uses besides those of BullMQ. */
export interface RedisCommands {
  scan(
    cursor: string,
    match: "MATCH",
    pattern: string,
    count: "COUNT",
    size: number,
  ): Promise<[string, string[]]>;
  set(key: string, value: string): Promise<unknown>;
  zscore(key: string, member: string): Promise<string | null>;
  exists(key: string): Promise<number>;
  del(key: string): Promise<unknown>;
  disconnect(): void;
}

async function queuesIn(redis: RedisCommands, prefix: string): Promise<string[]> {
  const names = new Set<string>();
  const pattern = `${prefix.replaceAll(/[\\*?[\]^]/g, "\\$&")}:*:meta`;
  let cursor = "0";
  do {
    const [next, keys] = await redis.scan(cursor, "MATCH", pattern, "COUNT", 1000);
    for (const key of keys) names.add(key.slice(prefix.length + 1, -":meta".length));
    cursor = next;
  } while (cursor !== "0");
  return [...names].sort();
}

class BullmqSource implements Source {
  readonly #queues: readonly Queue[];
  readonly #redis: RedisCommands;
  readonly #prefix: string;
  readonly #options: SourceOptions;
  /** The ids of all jobs that waited when the import began, by their queue. */
  #ids: (readonly [queue: Queue, id: string])[] | undefined;
  #at = 0;

  constructor(queues: readonly Queue[], redis: RedisCommands, prefix: string, options: SourceOptions) {
    this.#queues = queues;
    this.#redis = redis;
    this.#prefix = prefix;
    this.#options = options;
  }

  async census(): Promise<Census> {
    let waiting = 0;
    const left = [];
    for (const queue of this.#queues) {
      if (!this.#isNamed(queue)) continue;
      const counts = await queue.getJobCounts(...waitingIn, "active", "failed", "waiting-children");
      // BullMQ 5 counts the waiting jobs of a paused queue separately.
      for (const state of [...waitingIn, "paused"]) waiting += counts[state] ?? 0;
      const running = (counts["active"] ?? 0) + (counts["waiting-children"] ?? 0);
      left.push({ name: queue.name, running, failed: counts["failed"] ?? 0 });
    }
    return { waiting, left };
  }

  /** Whether jobs of the queue may be wanted. */
  #isNamed({ name }: Queue): boolean {
    const { types } = this.#options;
    return types === undefined || types.some((type) => type === name || type.startsWith(`${name}.`));
  }

  async next(limit: number, work: TakeOver<SourceJob>): Promise<number> {
    this.#ids ??= await this.#waiting();
    const part = this.#ids.slice(this.#at, this.#at + limit);
    this.#at += part.length;
    const jobs = new Map<SourceJob, Job>();
    for (const { job, dueAt } of await Promise.all(part.map(([queue, id]) => this.#read(queue, id))))
      if (job !== undefined && this.#isWanted(job)) jobs.set(jobOf(job, dueAt), job);
    const taken = await work([...jobs.keys()], undefined);
    for (const job of taken) await jobs.get(job)?.remove();
    return part.length;
  }

  /**
   * The set of delayed jobs has the time at which a job is due. The job itself has its last delay, which for a retry
   * does not count from its creation.
   */
  async #read(queue: Queue, id: string): Promise<{ job: Job | undefined; dueAt: Date | undefined }> {
    const score = await this.#redis.zscore(`${this.#prefix}:${queue.name}:delayed`, id);
    const dueAt = score === null ? undefined : new Date(Math.floor(Number(score) / scoresPerMs));
    return { job: await queue.getJob(id), dueAt };
  }

  /** A job of a scheduler is the next run of its cron entry, and is not imported as a job. */
  #isWanted(job: Job): boolean {
    const { types } = this.#options;
    return (
      job.repeatJobKey === undefined &&
      (types === undefined || types.includes(nameOf(job.queueName, job.name)))
    );
  }

  /** Pauses the queues, and returns the ids of all jobs that wait in them. */
  async #waiting(): Promise<(readonly [Queue, string])[]> {
    const found: (readonly [Queue, string])[] = [];
    for (const queue of this.#queues.filter((each) => this.#isNamed(each))) {
      if (!this.#options.readOnly) await this.#pause(queue);
      const ids = new Set<string>();
      for (const state of waitingIn)
        for (const id of await queue.getRanges([state], 0, -1, true)) ids.add(id);
      for (const id of ids) found.push([queue, id]);
    }
    return found;
  }

  async #pause(queue: Queue): Promise<void> {
    if (await queue.isPaused()) return;
    // The mark comes first. After a crash between the two, the next import resumes a queue that runs: no harm is done.
    await this.#redis.set(this.#mark(queue), "1");
    await queue.pause();
  }

  #mark(queue: Queue): string {
    return `${this.#prefix}:${queue.name}:${pausedKey}`;
  }

  async schedules(work: TakeOver<SourceSchedule>): Promise<void> {
    const { types } = this.#options;
    for (const queue of this.#queues) {
      const entries = await queue.getJobSchedulers(0, -1, true);
      const schedules = entries
        .map((entry) => scheduleOf(queue.name, entry))
        .filter(({ name }) => types === undefined || types.includes(name));
      for (const { key } of await work(schedules, undefined)) await queue.removeJobScheduler(key);
    }
  }

  /** Resumes the queues that an import has paused. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      if (!this.#options.readOnly) for (const queue of this.#queues) await this.#resume(queue);
    } finally {
      await Promise.all(this.#queues.map((queue) => queue.close()));
      this.#redis.disconnect();
    }
  }

  async #resume(queue: Queue): Promise<void> {
    if ((await this.#redis.exists(this.#mark(queue))) === 0) return;
    await queue.resume();
    await this.#redis.del(this.#mark(queue));
  }
}

/** The name of a type: the queue, and the name of the job if it is another one. */
function nameOf(queue: string, name: string): string {
  return name === queue ? queue : `${queue}.${name}`;
}

function jobOf(job: Job, dueAt: Date | undefined): SourceJob {
  const { attempts = 1 } = job.opts;
  return {
    id: `${job.queueName}-${job.id}`,
    createdAt: String(job.timestamp),
    name: nameOf(job.queueName, job.name),
    state: job.attemptsMade > 0 ? "retrying" : dueAt === undefined ? "waiting" : "delayed",
    payload: JSON.stringify(job.data) ?? "null",
    runAt: dueAt,
    priority: 0 - job.priority,
    attemptsLeft: Math.max(1, attempts - job.attemptsMade),
    dedupeKey: job.deduplicationId,
    problem: job.parentKey === undefined ? undefined : "it is part of a flow, and another job waits for it",
  };
}

function scheduleOf(queue: string, entry: JobSchedulerJson): SourceSchedule {
  const { key, name, pattern, every, tz: timezone, template, limit } = entry;
  const ends = limit !== undefined || entry.endDate !== undefined;
  return {
    name: nameOf(queue, name),
    key,
    cron: pattern,
    timezone,
    everyMs: every === undefined ? undefined : Number(every),
    payload: template?.data ?? null,
    missed: "once",
    problem: ends ? "it ends after a number of runs or at a time" : undefined,
  };
}
