/** What a statement costs, counted in buffers: the same on a fast and on a slow machine. */
import type { Sql } from "./kernel.ts";

interface Plan {
  "Shared Hit Blocks": number;
  "Shared Read Blocks": number;
  "Actual Rows": number;
}

/** What a statement touched. */
export interface Cost {
  readonly buffers: number;
  readonly rows: number;
}

/** Runs a statement and answers the buffers it touched, those of the functions it calls included, and its rows. */
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
 * The least a statement cost in some runs. Whatever is created and dropped in other databases makes a session read its
 * catalog again now and then, which costs thousands of buffers and is not the statement's doing.
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

/** The same in a session that has run the statement so often that it has settled on its plans. */
export async function warmCost(db: Sql, sql: string, values: readonly unknown[] = []): Promise<Cost> {
  for (let i = 0; i < 6; i += 1) await cost(db, sql, values);
  return await leastCost(db, sql, values);
}

/** Runs a call that answers jsonb and answers both its buffers and its answer, which is kept aside in a temporary table. */
export async function costAndResult<Result>(
  db: Sql,
  call: string,
  values: readonly unknown[] = [],
): Promise<{ buffers: number; answer: Result }> {
  await db.query("create temp table if not exists answers (answer jsonb)");
  await db.query("truncate answers");
  const { buffers } = await cost(db, `insert into answers select ${call}`, values);
  return { buffers, answer: await db.value<Result>("select answer from answers") };
}

/** The middle of some figures. */
export function median(figures: readonly number[]): number {
  const sorted = [...figures].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** The average of some figures. */
export function mean(figures: readonly number[]): number {
  return figures.reduce((sum, figure) => sum + figure, 0) / figures.length;
}

/** The n-th of as many tenants as a test needs. */
export function tenant(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
}

/** Jobs to put into the queue without asking the kernel one by one. */
export interface Load {
  readonly count: number;
  readonly type?: string;
  /** Types are `${type}0` to `${type}n-1` when more than one. */
  readonly types?: number;
  readonly tenants?: number;
  /** Number of the first tenant. */
  readonly firstTenant?: number;
  /** When they are due, such as '1 day'; the past unless told otherwise. */
  readonly due?: string;
  /** They run, and this worker holds them. */
  readonly worker?: string;
  /** Each has a dedupe key, a subject and a time to expire in. */
  readonly rich?: boolean;
}

/** Puts jobs straight into jobforge.jobs. */
export async function load(db: Pick<Sql, "query">, jobs: Load): Promise<void> {
  const { count, type = "a", types = 1, tenants = 1, firstTenant = 1, due = "-1 hour" } = jobs;
  await db.query(
    `insert into jobforge.jobs
       (id, tenant_id, lane, type, state, worker_id, started_at, attempts, max_attempts, budget, run_at, created_at, updated_at,
        payload, dedupe_key, subject, expires_at)
     select jobforge.new_id(), tenant, uuid_hash_extended(tenant, 0),
       $2 || case when $5::int > 1 then (n / $3::int % $5::int)::text else '' end,
       case when $7::text is not null then 'running' when $6::interval > '0' then 'waiting' else 'ready' end,
       $7, case when $7 is not null then clock_timestamp() end, ($7 is not null)::int,
       5, 5, clock_timestamp() + $6::interval + n * interval '1 microsecond', clock_timestamp(), clock_timestamp(), '{}',
       case when $8 then gen_random_uuid()::text end, case when $8 then 'subject ' || n % 1000 end,
       case when $8 then clock_timestamp() + interval '9 days' + n * interval '1 second' end
     from generate_series(0, $1::int - 1) n
     cross join lateral (
       select ('00000000-0000-4000-8000-' || lpad(($4 + n % $3::int)::text, 12, '0'))::uuid as tenant offset 0
     ) t`,
    [count, type, tenants, firstTenant, types, due, jobs.worker ?? null, jobs.rich ?? false],
  );
}
