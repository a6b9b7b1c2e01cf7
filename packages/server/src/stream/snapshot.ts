/** What a live stream reads: counts of live jobs, and the jobs that finished since a cursor. */
import pg from "pg";
import type { ApiSession } from "../calls.ts";

export interface StreamFilter {
  readonly tenant_id?: string | undefined;
  readonly type?: readonly string[] | undefined;
  readonly subject?: string | undefined;
  /** Whether to read what else has changed. */
  readonly changes?: "true" | "false" | undefined;
}

/** What operators, tenants and workers have changed lately. */
export interface Changes {
  /** Entries of the audit log, the newest first. */
  readonly entries: readonly { readonly id: number; readonly kind: string }[];
  /** There are more entries. */
  readonly more: boolean;
  /** Changes when a worker comes, stops or goes silent. Null if the caller may not see workers. */
  readonly workers: object | null;
}

/** A finished job without its payload and result, or a workflow without its input and output. */
export interface FinishedJob {
  /** Only of a workflow. */
  readonly kind?: "workflow";
  readonly id: string;
  readonly finished_at: string;
  readonly [column: string]: unknown;
}

/** What one read of the database found. */
export interface Snapshot {
  /** The database's time. A stream without a cursor begins here. */
  readonly at: string;
  /** Due now. */
  readonly queued: number;
  /** Due later. */
  readonly scheduled: number;
  readonly running: number;
  /** False if queued and scheduled are estimates, because there are many. */
  readonly exact: boolean;
  /** In the order in which they finished. */
  readonly finished: readonly FinishedJob[];
  /** More jobs finished than `finished` contains. */
  readonly more: boolean;
  /** Null if the filter does not ask for them. */
  readonly changes: Changes | null;
}

/** The most finished jobs in one read. A client that needs every job of a busy system should list jobs instead. */
const maxFinished = 200;

/**
 * Each read begins this long before the cursor. A run's end gets its time when it is reported, and becomes visible
 * when its transaction commits. So a job with an earlier time may appear after a job with a later time.
 */
const overlap = "2 seconds";

const columns =
  "id, tenant_id, type, status, reason, attempts, subject, created_at, started_at, finished_at, last_error, cost_cents, schedule_id, workflow_id";

const workflowColumns = "id, tenant_id, name, status, reason, subject, created_at, finished_at";

/** Jobs with one subject are counted up to this number. */
const maxOfSubject = 10_000;

/**
 * Reads the counts, and the jobs that finished after `since`, the time of a cursor. Without `since`, it returns
 * counts only; so it does for readers, who may not see jobs. The counts are bounded: large ones are estimates.
 */
export async function readSnapshot(
  session: ApiSession,
  schema: string,
  { tenant_id, type, subject, changes }: StreamFilter,
  since: string | undefined,
): Promise<Snapshot> {
  const api = pg.escapeIdentifier(schema);
  const ends = session.caller.role === "jobforge_reader" ? "'[]'::json" : finishedSql(api);
  const [row] = await session.query<{ snapshot: Snapshot }>(
    `select json_build_object('at', clock_timestamp(), 'queued', l.queued, 'scheduled', l.scheduled,
       'running', l.running, 'exact', l.exact, 'finished', ${ends},
       'changes', ${changes === "true" ? changesSql(api) : "null"}) as snapshot
     from (${subject === undefined ? liveSql(api) : subjectSql(api)}) l
     -- Every parameter has a type, also where a part of the query does not use it.
     where ($1::timestamptz is null or true) and ($4::text is null or true)`,
    [since ?? null, session.tenant(tenant_id), type ?? null, subject ?? null],
  );
  const snapshot = row?.snapshot ?? nothing;
  const more = snapshot.finished.length > maxFinished;
  return { ...snapshot, finished: more ? snapshot.finished.slice(1) : snapshot.finished, more };
}

const nothing: Snapshot = {
  at: "",
  queued: 0,
  scheduled: 0,
  running: 0,
  exact: true,
  finished: [],
  more: false,
  changes: null,
};

const ofTenantAndSubject = "($2::uuid is null or tenant_id = $2) and ($4::text is null or subject = $4)";
const matches = `${ofTenantAndSubject} and ($3::text[] is null or type = any ($3))`;
const isRecent = `finished_at >= coalesce($1::timestamptz, clock_timestamp()) - interval '${overlap}' and $1 is not null`;

/** A filter by type is for jobs: with one, no workflow matches. */
function finishedSql(api: string): string {
  const last = `order by finished_at desc, id desc limit ${maxFinished + 1}`;
  return `(select coalesce(json_agg(f.ended order by f.finished_at, f.id), '[]') from (
       select e.* from (
         select j.id, j.finished_at, to_json(j) as ended from (
           select ${columns} from ${api}.jobforge_jobs
           where status in ('succeeded', 'failed', 'dead', 'canceled') and ${isRecent} and ${matches}
           ${last}) j
         union all
         select w.id, w.finished_at, to_json(w) from (
           select 'workflow' as kind, ${workflowColumns} from ${api}.jobforge_workflows
           where ${isRecent} and $3::text[] is null and ${ofTenantAndSubject}
           ${last}) w) e
       ${last}) f)`;
}

function changesSql(api: string): string {
  return `${api}.jobforge_list_changes($2::uuid,
       coalesce($1::timestamptz, clock_timestamp()) - interval '${overlap}')`;
}

function liveSql(api: string): string {
  return `select coalesce(sum(c.queued), 0) as queued, coalesce(sum(c.scheduled), 0) as scheduled,
       coalesce(sum(c.running), 0) as running, coalesce(bool_and(c.exact), true) as exact
     from ${api}.jobforge_count_live($2::uuid, '{type}') c
     where $3::text[] is null or c.type = any ($3)`;
}

function subjectSql(api: string): string {
  return `select count(*) filter (where j.status = 'queued' and j.run_at <= clock_timestamp()) as queued,
       count(*) filter (where j.status = 'queued' and j.run_at > clock_timestamp()) as scheduled,
       count(*) filter (where j.status = 'running') as running, count(*) <= ${maxOfSubject} as exact
     from (
       select status, run_at from ${api}.jobforge_jobs
       where status in ('queued', 'running') and ${matches}
       limit ${maxOfSubject + 1}) j`;
}
