/** A database with a client, workers that end with their test, and ways to wait for what they do. */
import { JobForge } from "@jobforge/sdk-ts";
import type { TestDatabase } from "@jobforge/testing";
import { onTestFinished } from "vitest";
import { test as base } from "../../../../test/database.ts";
import { createWorker, type Logger, type Worker, type WorkerOptions } from "../../src/index.ts";

export const T = "11111111-1111-4111-8111-111111111111";
export const U = "22222222-2222-4222-8222-222222222222";

const workersOf = new WeakMap<JobForge, Worker[]>();

/** Hands a client to a test, and stops the workers made for it before it is closed. */
export async function useForge(database: string, use: (forge: JobForge) => Promise<void>): Promise<void> {
  await using forge = new JobForge({ database });
  const workers: Worker[] = [];
  workersOf.set(forge, workers);
  await use(forge);
  await Promise.all(workers.map((worker) => worker.stop({ graceMs: 0 })));
}

/** The suite's `test` with a client of its database as `forge`. */
export const test = base.extend<{ forge: JobForge }>({
  forge: ({ db }, use) => useForge(db.url, use),
});

/** A client whose database is so far ahead of time, such as `61min`. */
export function clientAt(db: TestDatabase, offset: string): JobForge {
  const url = new URL(db.url);
  url.searchParams.set("options", `-c jobforge.clock_offset=${offset}`);
  return new JobForge({ database: url.href });
}

export interface Line {
  readonly level: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

/** Keeps log lines instead of writing them. */
export function keptLog(): { readonly logger: Logger; readonly lines: Line[] } {
  const lines: Line[] = [];
  const at =
    (level: string) =>
    (fields: object, message = ""): void =>
      void lines.push({ ...fields, level, message });
  return { lines, logger: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") } };
}

/** A worker that logs to nowhere unless told otherwise, and is stopped with the test. */
export function makeWorker(forge: JobForge, options: WorkerOptions): Worker {
  const worker = createWorker(forge, { logger: keptLog().logger, abortGraceMs: 500, ...options });
  const workers = workersOf.get(forge);
  if (workers === undefined) onTestFinished(() => worker.stop({ graceMs: 0 }));
  else workers.push(worker);
  return worker;
}

/** The same, started. */
export async function startWorker(forge: JobForge, options: WorkerOptions): Promise<Worker> {
  const worker = makeWorker(forge, options);
  await worker.start();
  return worker;
}

/** Something that happens once, or so many times, and can be awaited. */
export class Happening<Value = void> {
  readonly values: Value[] = [];
  readonly #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  /** It happens. An arrow, so that it can be handed on as a hook. */
  readonly now = (value: Value): void => {
    this.values.push(value);
    for (const waiter of this.#waiting) if (this.values.length >= waiter.count) waiter.resolve();
  };

  /** Comes back when it has happened so many times, with the values so far. */
  async times(count: number): Promise<Value[]> {
    if (this.values.length < count) {
      await new Promise<void>((resolve) => this.#waiting.push({ count, resolve }));
    }
    return this.values;
  }

  /** Comes back when it has happened, with the first value. */
  async once(): Promise<Value> {
    const [value] = await this.times(1);
    return value as Value;
  }
}

/** Comes back when the condition holds; for what has no event to wait for. */
export async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** How many jobs have each status. */
export async function statuses(db: TestDatabase): Promise<Record<string, number>> {
  return await db.value<Record<string, number>>(
    `select coalesce(jsonb_object_agg(status, jobs), '{}')
     from (select status, count(*) as jobs from jobforge_jobs group by status) s`,
  );
}

/** Comes back when this many jobs have ended, in whatever way. */
export async function untilEnded(db: TestDatabase, count: number): Promise<void> {
  await until(async () => {
    const { queued = 0, running = 0, ...ended } = await statuses(db);
    return queued + running === 0 && Object.values(ended).reduce((sum, jobs) => sum + jobs, 0) === count;
  });
}

/** Enqueues many jobs, numbered from 1, of tenant T or of up to ten tenants in turn, in one statement. */
export async function enqueueMany(db: TestDatabase, type: string, count: number, tenants = 1): Promise<void> {
  await db.query(
    `select jobforge_enqueue_jobs(('11111111-1111-4111-8111-11111111111' || t % 10)::uuid,
       (select jsonb_agg(jsonb_build_object('type', $1::text, 'payload', jsonb_build_object('n', i)))
        from generate_series(1, $2::integer) i where i % $3::integer = (t - 1) % $3::integer))
     from generate_series(1, $3::integer) t`,
    [type, count, tenants],
  );
}

/** The job as the view shows it. */
export async function jobOf(db: TestDatabase, id: string): Promise<Record<string, unknown>> {
  const [job] = await db.query("select * from jobforge_jobs where id = $1", [id]);
  return job ?? {};
}

/** How each attempt of a job ended, in order. */
export async function attemptsOf(db: TestDatabase, id: string): Promise<string[]> {
  const rows = await db.query<{ status: string }>(
    "select status from jobforge_job_attempts where job_id = $1 order by attempt_no",
    [id],
  );
  return rows.map((row) => row.status);
}
