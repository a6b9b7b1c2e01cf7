/** What a live stream reads: how much waits and runs, and which jobs ended since a cursor, as the caller may see it. */
import pg from "pg";
import type { Session } from "../database.ts";

export interface StreamFilter {
  readonly tenant_id?: string | undefined;
  readonly type?: readonly string[] | undefined;
  readonly subject?: string | undefined;
}

/** A job that has ended, without its payload and result. */
export interface EndedJob {
  readonly id: string;
  readonly finished_at: string;
  readonly [column: string]: unknown;
}

export interface Glance {
  /** The database's time, which is where a stream without a cursor begins. */
  readonly at: string;
  readonly queued: number;
  readonly running: number;
  /** In the order in which they ended. */
  readonly ended: readonly EndedJob[];
  /** More jobs ended than are told one by one. */
  readonly more: boolean;
}

/** Jobs that are told one by one at each look. Who wants every job of a busy system wants a list, not a stream. */
const MAX_ENDED = 200;

/**
 * What ended is read again from a little before the cursor: a run's end has its time when it is reported, and is seen when that is
 * committed, so ends can appear behind one another.
 */
const OVERLAP = "2 seconds";

const columns =
  "id, tenant_id, type, status, reason, attempts, subject, created_at, started_at, finished_at, last_error, cost_cents";

/** `since` is the time of the cursor; none begins now. */
export async function glance(
  session: Session,
  schema: string,
  { tenant_id, type, subject }: StreamFilter,
  since: string | undefined,
): Promise<Glance> {
  const meant = `($2::uuid is null or tenant_id = $2) and ($3::text[] is null or type = any ($3)) and ($4::text is null or subject = $4)`;
  const view = `${pg.escapeIdentifier(schema)}.jobforge_jobs`;
  const [row] = await session.query<{ glance: Glance }>(
    `with ended as (
       select ${columns} from ${view}
       where status in ('succeeded', 'failed', 'dead', 'canceled')
         and finished_at >= coalesce($1::timestamptz, clock_timestamp()) - interval '${OVERLAP}'
         and $1 is not null and ${meant}
       order by finished_at desc, id desc
       limit ${MAX_ENDED + 1}
     ), live as (
       select count(*) filter (where status = 'queued') as queued, count(*) filter (where status = 'running') as running
       from ${view}
       where status in ('queued', 'running') and ${meant}
     )
     select json_build_object('at', clock_timestamp(), 'queued', l.queued, 'running', l.running,
       'ended', (select coalesce(json_agg(e order by e.finished_at, e.id), '[]') from ended e)) as glance
     from live l`,
    [since ?? null, tenant_id ?? null, type ?? null, subject ?? null],
  );
  const seen = row?.glance ?? { at: "", queued: 0, running: 0, ended: [], more: false };
  const more = seen.ended.length > MAX_ENDED;
  return { ...seen, ended: more ? seen.ended.slice(1) : seen.ended, more };
}
