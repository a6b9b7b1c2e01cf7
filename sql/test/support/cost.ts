/** The cost of statements in buffers, which is the same on fast and slow machines. */
import type { Sql } from "./kernel.ts";

interface Plan {
  "Shared Hit Blocks": number;
  "Shared Read Blocks": number;
  "Actual Rows": number;
}

/** The buffers that a statement touched, and its rows. */
export interface Cost {
  readonly buffers: number;
  readonly rows: number;
}

/** Runs a statement. Returns the buffers that it touched, including those of the functions it calls, and its rows. */
export async function cost(db: Sql, sql: string, values: readonly unknown[] = []): Promise<Cost> {
  const [explained] = await db.value<{ Plan: Plan }[]>(
    `explain (analyze, buffers, timing off, format json) ${sql}`,
    values,
  );
  if (explained === undefined) throw new Error(`no plan for ${sql}`);
  const plan = explained.Plan;
  return { buffers: plan["Shared Hit Blocks"] + plan["Shared Read Blocks"], rows: plan["Actual Rows"] };
}

/**
 * Returns the lowest cost of several executions. Objects created and dropped in other databases sometimes make a
 * session read its catalog again, which costs thousands of buffers and is not caused by the statement.
 */
export async function leastCost(
  db: Sql,
  sql: string,
  values: readonly unknown[] = [],
  runs = 4,
): Promise<Cost> {
  let least = await cost(db, sql, values);
  for (let i = 1; i < runs; i += 1) {
    const next = await cost(db, sql, values);
    if (next.buffers < least.buffers) least = next;
  }
  return least;
}

/** Like `leastCost`, after the session has run the statement often enough to cache its plans. */
export async function warmCost(db: Sql, sql: string, values: readonly unknown[] = []): Promise<Cost> {
  for (let i = 0; i < 6; i += 1) await cost(db, sql, values);
  return await leastCost(db, sql, values);
}

/** Runs a call that returns jsonb. Returns its buffers and its result, which goes through a temporary table. */
export async function costAndResult<Result>(
  db: Sql,
  call: string,
  values: readonly unknown[] = [],
): Promise<{ buffers: number; result: Result }> {
  await db.query("create temp table if not exists results (result jsonb)");
  await db.query("truncate results");
  const { buffers } = await cost(db, `insert into results select ${call}`, values);
  return { buffers, result: await db.value<Result>("select result from results") };
}

/** Returns the median. */
export function median(figures: readonly number[]): number {
  const sorted = [...figures].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Returns the average. */
export function mean(figures: readonly number[]): number {
  return figures.reduce((sum, figure) => sum + figure, 0) / figures.length;
}

/** Returns the id of the n-th tenant. */
export function tenant(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
}

/** Jobs to write into the queue without a kernel call for each. */
export interface Load {
  readonly count: number;
  readonly type?: string;
  /** With more than one type, their names are `${type}0` to `${type}n-1`. */
  readonly types?: number;
  readonly tenants?: number;
  /** The number of the first tenant. */
  readonly firstTenant?: number;
  /** When the jobs are due, such as '1 day'. By default they are due in the past. */
  readonly due?: string;
  /** The jobs are running, and this worker holds them. */
  readonly worker?: string;
  /** Each job has a dedupe key, a subject and an expiry time. */
  readonly rich?: boolean;
}

/** Writes jobs directly into jobforge.queue, or into jobforge.runs if a worker holds them. */
export async function load(db: Pick<Sql, "query">, jobs: Load): Promise<void> {
  const { count, type = "a", types = 1, tenants = 1, firstTenant = 1, due = "-1 hour" } = jobs;
  await db.query(
    `with jobs as materialized (
       select jobforge.new_id() as id, nextval('jobforge.queue_seq_seq') as seq, tenant,
         $2 || case when $5::int > 1 then (n / $3::int % $5::int)::text else '' end as type,
         clock_timestamp() + $6::interval + n * interval '1 microsecond' as run_at, clock_timestamp() as now,
         case when $8 then gen_random_uuid()::text end as dedupe_key,
         case when $8 then 'subject ' || n % 1000 end as subject,
         case when $8 then clock_timestamp() + interval '9 days' + n * interval '1 second' end as expires_at
       from generate_series(0, $1::int - 1) n
       cross join lateral (
         select ('00000000-0000-4000-8000-' || lpad(($4 + n % $3::int)::text, 12, '0'))::uuid as tenant offset 0
       ) t
     ), queued as (
       insert into jobforge.queue
         (id, seq, tenant_id, lane, type, state, max_attempts, budget, run_at, created_at, updated_at, payload,
          dedupe_key, subject, expires_at)
       overriding system value
       select id, seq, tenant, uuid_hash_extended(tenant, 0), type,
         case when $6::interval > '0' then 'waiting' else 'ready' end, 5, 5, run_at, now, now, '{}', dedupe_key, subject,
         expires_at
       from jobs where $7::text is null
     ), running as (
       insert into jobforge.runs
         (id, seq, tenant_id, type, rank, attempts, uncounted, failures, losses, max_attempts, budget, run_at, created_at,
          updated_at, started_at, worker_id, payload, dedupe_key, subject, expires_at, tags, counted, bound)
       select id, seq, tenant, type, 0, 1, 0, 0, 0, 5, 5, run_at, now, now, now, $7, '{}', dedupe_key, subject,
         expires_at, '{}', false, false
       from jobs where $7 is not null
     )
     insert into jobforge.dedupe_keys (tenant_id, type, dedupe_key, job_id)
     select tenant, type, dedupe_key, id from jobs where dedupe_key is not null`,
    [count, type, tenants, firstTenant, types, due, jobs.worker ?? null, jobs.rich ?? false],
  );
  await db.query(
    `insert into jobforge.tenant_types (tenant_id, type, seen_at)
     select distinct ('00000000-0000-4000-8000-' || lpad(($4 + n % $3::int)::text, 12, '0'))::uuid,
       $2 || case when $5::int > 1 then (n / $3::int % $5::int)::text else '' end, clock_timestamp()
     from generate_series(0, $1::int - 1) n`,
    [count, type, tenants, firstTenant, types],
  );
}
