/** What a live stream reads: counts of queued and running jobs, and the jobs that finished since a cursor. */
import pg from "pg";
import type { Session } from "../database.ts";

export interface StreamFilter {
  readonly tenant_id?: string | undefined;
  readonly type?: readonly string[] | undefined;
  readonly subject?: string | undefined;
}

/** A finished job without its payload and result. */
export interface FinishedJob {
  readonly id: string;
  readonly finished_at: string;
  readonly [column: string]: unknown;
}

/** What one read of the database found. */
export interface Snapshot {
  /** The database's time. A stream without a cursor begins here. */
  readonly at: string;
  readonly queued: number;
  readonly running: number;
  /** In the order in which they finished. */
  readonly finished: readonly FinishedJob[];
  /** More jobs finished than `finished` contains. */
  readonly more: boolean;
}

/** The most finished jobs in one read. A client that needs every job of a busy system should list jobs instead. */
const maxFinished = 200;

/**
 * Each read begins this long before the cursor. A run's end gets its time when it is reported, and becomes visible
 * when its transaction commits. So a job with an earlier time may appear after a job with a later time.
 */
const overlap = "2 seconds";

const columns =
  "id, tenant_id, type, status, reason, attempts, subject, created_at, started_at, finished_at, last_error, cost_cents";

/**
 * Reads the counts, and the jobs that finished after `since`, the time of a cursor. Without `since`, it returns
 * counts only.
 */
export async function readSnapshot(
  session: Session,
  schema: string,
  { tenant_id, type, subject }: StreamFilter,
  since: string | undefined,
): Promise<Snapshot> {
  const matches = `($2::uuid is null or tenant_id = $2) and ($3::text[] is null or type = any ($3)) and ($4::text is null or subject = $4)`;
  const view = `${pg.escapeIdentifier(schema)}.jobforge_jobs`;
  const [row] = await session.query<{ snapshot: Snapshot }>(
    `with finished as (
       select ${columns} from ${view}
       where status in ('succeeded', 'failed', 'dead', 'canceled')
         and finished_at >= coalesce($1::timestamptz, clock_timestamp()) - interval '${overlap}'
         and $1 is not null and ${matches}
       order by finished_at desc, id desc
       limit ${maxFinished + 1}
     ), live as (
       select count(*) filter (where status = 'queued') as queued, count(*) filter (where status = 'running') as running
       from ${view}
       where status in ('queued', 'running') and ${matches}
     )
     select json_build_object('at', clock_timestamp(), 'queued', l.queued, 'running', l.running,
       'finished', (select coalesce(json_agg(f order by f.finished_at, f.id), '[]') from finished f)) as snapshot
     from live l`,
    [since ?? null, tenant_id ?? null, type ?? null, subject ?? null],
  );
  const snapshot = row?.snapshot ?? { at: "", queued: 0, running: 0, finished: [], more: false };
  const more = snapshot.finished.length > maxFinished;
  return { ...snapshot, finished: more ? snapshot.finished.slice(1) : snapshot.finished, more };
}
