/** Jobs in a test's database: many at once, and their state. */
import type { TestDatabase } from "@jobforge/testing";
import { until } from "./happening.ts";

/** Enqueues `count` jobs, numbered from 1, of tenant T or of up to ten tenants in turn, in one statement. */
export async function enqueueMany(db: TestDatabase, type: string, count: number, tenants = 1): Promise<void> {
  await db.query(
    `select jobforge_enqueue_jobs(('11111111-1111-4111-8111-11111111111' || t % 10)::uuid,
       (select jsonb_agg(jsonb_build_object('type', $1::text, 'payload', jsonb_build_object('n', i)))
        from generate_series(1, $2::integer) i where i % $3::integer = (t - 1) % $3::integer))
     from generate_series(1, $3::integer) t`,
    [type, count, tenants],
  );
}

/** The number of jobs of each status. */
export async function statuses(db: TestDatabase): Promise<Record<string, number>> {
  return await db.value<Record<string, number>>(
    `select coalesce(jsonb_object_agg(status, jobs), '{}')
     from (select status, count(*) as jobs from jobforge_jobs group by status) s`,
  );
}

/** Resolves when this number of jobs is finished, in whatever status, and no other job exists. */
export async function untilFinished(db: TestDatabase, count: number): Promise<void> {
  await until(async () => {
    const { queued = 0, running = 0, ...finished } = await statuses(db);
    return queued + running === 0 && Object.values(finished).reduce((sum, jobs) => sum + jobs, 0) === count;
  });
}

/** The job's row in the view. */
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

/** Takes every lease away, as if all workers had been silent for ten minutes. */
export async function loseLeases(db: TestDatabase): Promise<void> {
  const other = await db.connect();
  await other.travel("10 minutes");
  await other.query("select jobforge_maintain()");
}

/** The number of workers that have asked to be notified. */
export async function markedWorkers(db: TestDatabase): Promise<number> {
  return await db.value("select count(*)::int from jobforge.idle_workers");
}

/** Resolves when this number of workers has asked to be notified. */
export async function untilMarked(db: TestDatabase, workers: number): Promise<void> {
  await until(async () => (await markedWorkers(db)) === workers);
}
