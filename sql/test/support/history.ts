/** A large archive, written directly into its leaves. */
import type { TestDatabase } from "@jobforge/testing";

export interface History {
  readonly rows: number;
  /** The time from the creation of the first job to that of the last, such as '28 days'. */
  readonly span: string;
  /** SQL over n, the number of the row, starting at 1. */
  readonly tenant: string;
  readonly type: string;
  readonly status?: string;
  readonly subject?: string;
  readonly tags?: string;
  readonly message?: string;
}

/**
 * Writes finished jobs, the last of them now. Each has a UUIDv7 of its created_at, and one second of waiting and of
 * running. Leaves of the past are created first, as maintenance would have done at that time. Indexes are rebuilt
 * afterwards.
 */
export async function writeHistory(db: TestDatabase, history: History): Promise<void> {
  await makeLeaves(db, history.span);
  await withoutIndexes(db, "jobforge.archive", () => insertHistory(db, history));
  await db.query("vacuum (analyze) jobforge.archive");
}

/**
 * Runs `work` while the table has only its primary key, and then rebuilds the indexes. For many rows this is faster.
 */
export async function withoutIndexes(
  db: Pick<TestDatabase, "query">,
  table: string,
  work: () => Promise<void>,
): Promise<void> {
  const indexes = await db.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
     from pg_index where indrelid = $1::regclass and not indisprimary`,
    [table],
  );
  for (const index of indexes) await db.query(`drop index ${index.name}`);
  await work();
  for (const index of indexes) await db.query(index.definition.replace(" ON ONLY ", " ON "));
}

/** Creates the leaves of a past time span. */
export async function makeLeaves(db: Pick<TestDatabase, "query">, span: string): Promise<void> {
  await db.query(
    `select jobforge.maintain_leaves(at)
     from generate_series(clock_timestamp() - $1::interval, clock_timestamp(), interval '4 days') at
     order by at desc`,
    [span],
  );
}

/** Writes finished jobs as `writeHistory` does, but only into existing leaves and without other work. */
export async function insertHistory(db: Pick<TestDatabase, "query">, history: History): Promise<void> {
  const { status = "'succeeded'", subject = "null", tags = "'{}'", message = "'boom'" } = history;
  await db.query(
    `insert into jobforge.archive (
       id, seq, tenant_id, type, status, reason, last_run, rank, attempts, uncounted, failures, max_attempts, budget, run_at,
       created_at, started_at, finished_at, worker_id, payload, subject, tags, error, keep_days)
     select
       (lpad(to_hex((extract(epoch from j.at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(j.n % 4096), 3, '0')
         || '8' || lpad(to_hex(j.n), 15, '0'))::uuid,
       j.n, j.tenant, j.type, j.status,
       case j.status when 'canceled' then 'canceled' when 'dead' then 'exhausted' when 'failed' then 'refused' else 'done' end,
       case j.status when 'canceled' then null when 'succeeded' then 'succeeded' else 'failed' end,
       0, 1, 0, 0, 5, 5, j.at, j.at, j.at + interval '1 second', j.at + interval '2 seconds', 'w', '{"some": "payload"}',
       j.subject, j.tags,
       case when j.status in ('failed', 'dead') then jsonb_build_object('message', j.message) end,
       30
     from (
       select n, clock_timestamp() - interval '3 seconds' - $2::interval * (($1::int - n)::float8 / $1::int) as at,
         (${history.tenant})::uuid as tenant, ${history.type} as type, ${status} as status, ${subject} as subject,
         (${tags})::text[] as tags, ${message} as message
       from generate_series(1, $1::int) n
     ) j`,
    [history.rows, history.span],
  );
  await db.query(
    `insert into jobforge.tenant_types (tenant_id, type, seen_at)
     select distinct (${history.tenant})::uuid, ${history.type}, clock_timestamp() from generate_series(1, $1::int) n`,
    [history.rows],
  );
}

/** Returns SQL for the id of the n-th tenant, as `tenant` in cost.ts returns it. */
export function tenantSql(number: string): string {
  return `'00000000-0000-4000-8000-' || lpad((${number})::text, 12, '0')`;
}
