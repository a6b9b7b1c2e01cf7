/** Shorthands for the kernel's public functions and views, for all SQL tests. */
import type { TestConnection } from "@jobforge/testing";
import { expect } from "vitest";

/** Two tenants. */
export const T = "11111111-1111-4111-8111-111111111111";
export const U = "22222222-2222-4222-8222-222222222222";
export const unknownId = "99999999-9999-4999-8999-999999999999";
/** The tenant of work that belongs to no tenant. */
export const globalTenant = "00000000-0000-0000-0000-000000000000";
/** The tenant of audit rows that concern the installation. */
export const allTenants = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** A connection of a test: the main one or another. */
export type Sql = Pick<TestConnection, "query" | "value" | "travel">;

/** SQL for JobForge's clock on a connection that may have travelled. */
export const nowSql =
  "(clock_timestamp() + coalesce(nullif(current_setting('jobforge.clock_offset', true), ''), '0')::interval)";

/** A row of the view jobforge_jobs. */
export type Job = {
  id: string;
  tenant_id: string;
  type: string;
  payload: unknown;
  status: string;
  priority: number;
  attempts: number;
  max_attempts: number;
  run_at: Date;
  locked_by: string | null;
  locked_at: Date | null;
  heartbeat_at: Date | null;
  finished_at: Date | null;
  cancel_requested: boolean;
  created_at: unknown;
  updated_at: unknown;
  error: Record<string, unknown> | null;
  last_error: string | null;
  result_id: string | null;
  cost_cents: number | null;
  reason: string | null;
};

/** The result of jobforge_enqueue_job: the columns as JSON, and the outcome. */
export type Enqueued = Omit<Job, "run_at" | "finished_at"> & {
  run_at: string;
  finished_at: string | null;
  outcome: "created" | "existing" | "replaced";
};

/** Arguments of jobforge_enqueue_job without `p_`. `in` is a run_at relative to now, such as '-3 minutes'. */
export interface NewJob {
  tenant_id?: string | null;
  type?: string | null;
  /** Any JSON value. */
  payload?: unknown;
  /** The payload as JSON text, sent unchanged. */
  raw_payload?: string | null;
  idempotency_key?: string | null;
  run_at?: string | Date | null;
  in?: string;
  max_attempts?: number | null;
  priority?: number | null;
  dedupe_key?: string | null;
  dedupe_mode?: string | null;
  tags?: readonly (string | null)[] | null;
  subject?: string | null;
  concurrency_key?: string | null;
  expires_at?: string | Date | null;
  expires_in?: string;
  traceparent?: string | null;
  notify?: boolean | null;
  default_attempts?: number | null;
}

/** Enqueues a job, by default of tenant T and type 'a'. */
export async function enqueue(db: Sql, job: NewJob = {}): Promise<Enqueued> {
  const values: unknown[] = [];
  const argument = (name: string, value: unknown): string => {
    values.push(name === "payload" ? JSON.stringify(value) : value);
    const parameter = `$${values.length}`;
    if (name === "raw_payload") return `p_payload => ${parameter}::jsonb`;
    if (name === "in") return `p_run_at => ${nowSql} + ${parameter}::interval`;
    if (name === "expires_in") return `p_expires_at => ${nowSql} + ${parameter}::interval`;
    return `p_${name} => ${parameter}`;
  };
  const call = Object.entries({ tenant_id: T, type: "a", ...job })
    .map(([name, value]) => argument(name, value))
    .join(", ");
  return await db.value<Enqueued>(`select jobforge_enqueue_job(${call})`, values);
}

/** Enqueues jobs one after the other, and returns their ids in that order. */
export async function enqueueAll<const Jobs extends readonly NewJob[]>(
  db: Sql,
  jobs: Jobs,
): Promise<{ -readonly [Place in keyof Jobs]: string }> {
  const ids: string[] = [];
  for (const job of jobs) ids.push((await enqueue(db, job)).id);
  return ids as { -readonly [Place in keyof Jobs]: string };
}

/** Enqueues many equal jobs in one statement, by default of tenant T. */
export async function enqueueMany(db: Sql, count: number, job: { tenant_id?: string; type?: string } = {}) {
  await db.query("select count(jobforge_enqueue_job($1, $2)) from generate_series(1, $3)", [
    job.tenant_id ?? T,
    job.type ?? "a",
    count,
  ]);
}

export interface ClaimOptions {
  limit?: number | null;
  types?: readonly (string | null)[] | null;
  tenant_id?: string | null;
}

/** Claims jobs and returns them in the order of the claim. */
export async function claim(
  db: Sql,
  worker: string | null = "w1",
  options: ClaimOptions = {},
): Promise<Job[]> {
  const limit = options.limit === undefined ? 10 : options.limit;
  return await db.query<Job>("select * from jobforge_claim_jobs($1, $2, $3, $4)", [
    worker,
    limit,
    options.types ?? null,
    options.tenant_id ?? null,
  ]);
}

/** Claims jobs and returns their ids. */
export async function claimIds(db: Sql, worker = "w1", options: ClaimOptions = {}): Promise<string[]> {
  return (await claim(db, worker, options)).map((job) => job.id);
}

export interface Ending {
  worker?: string | null;
  status?: string | null;
  error?: unknown;
  result?: unknown;
  artifact_ref?: string | null;
  attempt?: number | null;
  retry?: boolean | null;
  retry_at?: string | Date | null;
  cost_cents?: number | null;
  next_run_at?: string | Date | null;
}

export interface Ended {
  id: string;
  status: string;
  run_at: string;
}

/** Ends a run, by default of worker w1 and as succeeded. */
export async function complete(db: Sql, id: string | null, ending: Ending = {}): Promise<Ended> {
  const { worker = "w1", status = "succeeded", ...rest } = ending;
  const values: unknown[] = [id, worker, status];
  const named = Object.entries(rest).map(([name, value]) => {
    values.push((name === "error" || name === "result") && value !== null ? JSON.stringify(value) : value);
    return `, p_${name} => $${values.length}`;
  });
  return await db.value<Ended>(`select jobforge_complete_job($1, $2, $3${named.join("")})`, values);
}

/** Ends a run as failed, by default of worker w1. */
export async function fail(db: Sql, id: string, ending: Ending = {}): Promise<Ended> {
  return await complete(db, id, { status: "failed", error: { message: "boom" }, ...ending });
}

/** Claims one due job and ends its run as failed. */
export async function claimAndFail(db: Sql, ending: Ending = {}): Promise<Ended> {
  const [job] = await claim(db, ending.worker ?? "w1", { limit: 1 });
  if (job === undefined) throw new Error("no job is due");
  return await fail(db, job.id, ending);
}

export async function heartbeat(db: Sql, id: string | null, worker: string | null = "w1", attempt?: number) {
  return await db.value<{ cancel_requested: boolean }>("select jobforge_heartbeat_job($1, $2, $3)", [
    id,
    worker,
    attempt ?? null,
  ]);
}

export async function cancel(db: Sql, id: string | null, tenant: string | null = T) {
  return await db.value<{ id: string; status: string; cancel_requested: boolean }>(
    "select jobforge_cancel_job($1, $2)",
    [id, tenant],
  );
}

export interface Rescheduling {
  tenant_id?: string | null;
  run_at?: string | Date | null;
  max_attempts?: number | null;
}

export async function reschedule(db: Sql, id: string | null, how: Rescheduling = {}) {
  const { tenant_id = T, run_at = null, max_attempts = null } = how;
  return await db.value<{ id: string; status: string; run_at: string; max_attempts: number }>(
    "select jobforge_reschedule_job($1, $2, $3, $4)",
    [id, tenant_id, run_at, max_attempts],
  );
}

export async function setPolicy(db: Sql, type: string, policy: Record<string, unknown>): Promise<void> {
  await db.query("select jobforge_set_policy($1, $2)", [type, JSON.stringify(policy)]);
}

/** Returns the job as the view shows it. Fails the test if it is missing. */
export async function find(db: Sql, id: string): Promise<Job> {
  const rows = await db.query<Job>("select * from jobforge_jobs where id = $1", [id]);
  expect(rows, `job ${id} in jobforge_jobs`).toHaveLength(1);
  return rows[0] as Job;
}

export async function countJobs(db: Sql): Promise<number> {
  return await db.value<number>("select count(*)::int from jobforge_jobs");
}

export type Attempt = {
  attempt_no: number;
  status: string;
  worker_id: string;
  error: Record<string, unknown> | null;
};

/** Returns the attempts of a job in order. */
export async function attemptsOf(db: Sql, id: string): Promise<Attempt[]> {
  return await db.query<Attempt>(
    "select attempt_no, status, worker_id, error from jobforge_job_attempts where job_id = $1 order by attempt_no",
    [id],
  );
}

/** Returns the actions in the audit log for a job, in order. */
export async function auditOf(db: Sql, id: string): Promise<string[]> {
  const rows = await db.query<{ action: string }>(
    "select action from jobforge_audit_log where entity_type = 'job' and entity_id = $1 order by id",
    [id],
  );
  return rows.map((row) => row.action);
}

/** Returns the seconds from the end of the job's last attempt to its next run: the backoff, to the microsecond. */
export async function gapOf(db: Sql, id: string): Promise<number> {
  return await db.value<number>(
    `select extract(epoch from j.run_at - a.finished_at)::float8
     from jobforge_jobs j join jobforge_job_attempts a on a.job_id = j.id and a.attempt_no = j.attempts
     where j.id = $1`,
    [id],
  );
}

/** Moves the clock of a connection to just after the job's run_at. */
export async function travelToRun(db: Sql, id: string): Promise<void> {
  await db.query(
    `select set_config('jobforge.clock_offset', (run_at - clock_timestamp() + interval '1 millisecond')::text, false)
     from jobforge_jobs where id = $1`,
    [id],
  );
}

export interface KernelError {
  code: string;
  message: string;
  detail?: string;
  hint?: string;
}

/** Expects an error of JobForge with this code and a machine-readable DETAIL. Returns the error. */
export async function expectError(
  call: Promise<unknown>,
  code: string,
  field?: string,
): Promise<{ message: string; name: string; hint: string; field: string | undefined }> {
  const error = await call.then(
    (answer) => expect.fail(`expected ${code}, got ${JSON.stringify(answer)}`),
    (reason: KernelError) => reason,
  );
  expect(error.code, error.message).toBe(code);
  const detail = JSON.parse(error.detail ?? "null") as { name?: string; field?: string } | null;
  expect(detail?.name, "DETAIL names the error").toMatch(/^[a-z_]+$/);
  if (code.startsWith("JF")) expect(error.hint, `HINT of "${error.message}"`).toBeTruthy();
  if (field !== undefined) expect(detail?.field, error.message).toBe(field);
  return { message: error.message, name: detail?.name ?? "", hint: error.hint ?? "", field: detail?.field };
}

/** Returns the SQLSTATE of a call's error, or 'ok'. */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  return await call.then(
    () => "ok",
    (error: KernelError) => error.code,
  );
}

/** Starts a call that is awaited later. If the test fails before that, the test's own failure is reported. */
export function started<Result>(call: Promise<Result>): Promise<Result> {
  call.catch(() => undefined);
  return call;
}

/**
 * Opens a connection with a statement timeout of two seconds: a call that waits for a lock fails instead of hanging.
 */
export async function impatient(db: { connect(): Promise<TestConnection> }): Promise<TestConnection> {
  const connection = await db.connect();
  await connection.query("set statement_timeout = '2s'");
  return connection;
}

/** Opens several connections concurrently. */
export async function connections(
  db: { connect(): Promise<TestConnection> },
  count: number,
): Promise<TestConnection[]> {
  return await Promise.all(Array.from({ length: count }, () => db.connect()));
}

/** Resolves when the connection of the backend waits for a lock of another connection. */
export async function untilBlocked(db: Sql, blocked: number): Promise<void> {
  while (!(await db.value<boolean>("select cardinality(pg_blocking_pids($1)) > 0", [blocked])));
}

/** Returns the backend of a connection, for `untilBlocked`. */
export async function backendOf(connection: Sql): Promise<number> {
  return await connection.value<number>("select pg_backend_pid()");
}

/** Sends a worker heartbeat. */
export async function workerHeartbeat(db: Sql, worker: string, info: Record<string, unknown> = {}) {
  return await db.value<{ cancel: unknown[]; lost: unknown[]; next_due_at: string | null }>(
    "select jobforge_heartbeat_worker($1, $2)",
    [worker, JSON.stringify(info)],
  );
}
