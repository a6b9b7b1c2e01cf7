/** Compares the kernel with the model: jobs, attempts, results, keys and the audit log. */
import { createHash } from "node:crypto";
import { type Fault, isOverdue, type Job, type Model } from "../state.ts";
import { Divergence, type Stage } from "./stage.ts";

type Row = Record<string, unknown>;

interface Seen extends Row {
  job: Row;
  attempts: Row[] | null;
  results: Row[] | null;
}

const seenQuery = `select to_jsonb(j) as job,
    (select jsonb_agg(to_jsonb(a) order by a.attempt_no) from jobforge_job_attempts a where a.job_id = j.id) as attempts,
    (select jsonb_agg(to_jsonb(r)) from jobforge_job_results r where r.job_id = j.id) as results
  from jobforge_jobs j`;

/** Compares the jobs that changed since the last comparison, after learning the ids of new children. */
export async function compareTouched(stage: Stage): Promise<void> {
  await learnIds(stage);
  const names = [...stage.shared.touched].filter((name) => isComparable(stage, name));
  stage.shared.touched.clear();
  if (names.length === 0) return;
  const ids = names.map((name) => stage.idOf(name));
  compareJobs(
    stage,
    names,
    await stage.kernel.query<Seen>(`${seenQuery} where j.id = any ($1::uuid[])`, [ids]),
  );
}

/** Compares everything. */
export async function compareAll(stage: Stage): Promise<void> {
  await compareTouched(stage);
  const names = stage.base.jobs.entries().map(([name]) => name);
  const seen = await stage.kernel.query<Seen>(seenQuery, []);
  const isOurs = ({ job }: Seen): boolean => isComparable(stage, stage.nameOf(String(job["id"])) ?? "");
  compareJobs(
    stage,
    names.filter((name) => isComparable(stage, name)),
    seen.filter((row) => isOurs(row) || stage.nameOf(String(row.job["id"])) === undefined),
  );
  await compareKeys(stage);
  await compareAudit(stage);
  await compareLeftovers(stage);
}

/** Returns whether a job can be compared. An overdue job may be deleted in part, so it cannot. */
function isComparable(stage: Stage, name: string): boolean {
  const job = stage.base.jobs.get(name);
  return job !== undefined && (job.forgotten || !isOverdue(job, stage.now));
}

/** Learns the ids of children, which no call returns. They are recognized by their payloads. */
async function learnIds(stage: Stage): Promise<void> {
  const unknown = stage.base.known().filter((job) => !stage.hasId(job.name));
  if (unknown.length === 0) return;
  const rows = await stage.kernel.query<{ id: string; mark: number; seq: string }>(
    `select j.id, (j.payload ->> 'mark')::int as mark, s.seq
     from jobforge_jobs j join jobforge.live_rows s on s.id = j.id where (j.payload ->> 'mark')::int = any ($1)`,
    [unknown.map((job) => job.payload.mark)],
  );
  for (const job of unknown) {
    const found = rows.filter((row) => row.mark === job.payload.mark);
    if (found.length !== 1) throw new Divergence(`there are ${found.length} jobs for the child ${job.name}`);
    for (const row of found) stage.bind(job.name, row.id);
  }
}

function compareJobs(stage: Stage, names: readonly string[], rows: readonly Seen[]): void {
  const seen = new Map(rows.map((row) => [String(row.job["id"]), row]));
  if (seen.size < rows.length) throw new Divergence("a job exists twice");
  for (const name of names) {
    const job = stage.base.job(name);
    const row = seen.get(stage.idOf(name));
    seen.delete(stage.idOf(name));
    if (job.forgotten !== (row === undefined)) {
      throw new Divergence(`${name} is ${row === undefined ? "missing" : "not deleted"}`);
    }
    if (row !== undefined) compareJob(stage.base, stage.idOf(name), job, row);
  }
  for (const id of seen.keys()) {
    throw new Divergence(`there is a job ${stage.nameOf(id) ?? id} that should not exist`);
  }
}

function compareJob(model: Model, id: string, job: Job, row: Seen): void {
  const isRunning = job.status === "running";
  const isFinished = job.finishedAt !== null;
  const isAsked = model.requests.get(job.name) !== undefined;
  const expected: Row = {
    tenant_id: job.tenant,
    type: job.type,
    payload: { mark: job.payload.mark, large: job.payload.large },
    status: job.status,
    reason: job.reason,
    priority: job.priority,
    attempts: job.attempts,
    uncounted: job.uncounted,
    max_attempts: job.maxAttempts,
    run_at: job.runAt,
    locked_by: job.worker,
    locked_at: isRunning ? job.startedAt : null,
    heartbeat_at: isRunning ? (job.beatAt ?? job.startedAt) : null,
    started_at: job.startedAt,
    finished_at: job.finishedAt,
    idempotency_key: job.idempotencyKey,
    dedupe_key: job.dedupeKey,
    subject: job.subject,
    tags: job.tags,
    progress: job.progress,
    cancel_requested: isFinished ? job.status === "canceled" && job.endedByRun : isAsked,
    cost_cents: job.cost,
    created_at: job.createdAt,
    updated_at: job.updatedAt,
    expires_at: job.expiresAt,
    trace_id: job.attempts === 0 ? null : traceId(id, job.attempts),
  };
  const actual = readRow(row.job);
  for (const [column, value] of Object.entries(expected)) differ(job.name, column, actual[column], value);
  compareFault(job.name, "error", row.job["error"], job.fault);
  compareAttempts(id, job, row.attempts ?? []);
  compareResults(job, row);
}

const timeColumn = /_at$/;

/** Returns a row in the model's terms: times as numbers, payloads by their mark. */
function readRow(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => {
      if (timeColumn.test(column) && typeof value === "string") return [column, Date.parse(value)];
      if (column !== "payload") return [column, value];
      const { mark, text } = (value ?? {}) as { mark?: unknown; text?: unknown };
      return [column, { mark, large: text !== undefined }];
    }),
  );
}

function differ(name: string, what: string, actual: unknown, expected: unknown): void {
  const [is, should] = [JSON.stringify(actual ?? null), JSON.stringify(expected ?? null)];
  if (is !== should) throw new Divergence(`${what} of ${name} is ${is}, should be ${should}`);
}

/** Compares the presence and time of an error, and its message if the model knows it. */
function compareFault(name: string, what: string, actual: unknown, expected: Fault | null): void {
  differ(name, `${what} at all`, actual !== null, expected !== null);
  if (expected === null) return;
  const { message, attemptedAt } = actual as { message: unknown; attemptedAt: unknown };
  if (expected.message !== null) differ(name, `the message of ${what}`, message, expected.message);
  if (typeof message !== "string" || message === "")
    throw new Divergence(`${what} of ${name} has no message`);
  if (expected.at !== null) differ(name, `the time of ${what}`, Date.parse(String(attemptedAt)), expected.at);
}

/** Requires that every run has its attempt, including the current one. */
function compareAttempts(id: string, job: Job, rows: readonly Row[]): void {
  const runs: Row[] = job.runs.map((run) => ({
    attempt_no: run.attempt,
    status: run.status,
    worker_id: run.worker,
    started_at: run.startedAt,
    finished_at: run.finishedAt,
    duration_ms: run.finishedAt - run.startedAt,
    trace_id: traceId(id, run.attempt),
  }));
  if (job.status === "running") {
    runs.push({
      attempt_no: job.attempts,
      status: "running",
      worker_id: job.worker,
      started_at: job.startedAt,
      finished_at: null,
      duration_ms: null,
      trace_id: traceId(id, job.attempts),
    });
  }
  differ(job.name, "the number of attempts", rows.length, job.attempts);
  differ(job.name, "the number of runs", runs.length, job.attempts);
  for (const [index, run] of runs.entries()) {
    const actual = readRow(rows[index] ?? {});
    for (const [column, value] of Object.entries(run)) {
      differ(job.name, `${column} of attempt ${index + 1}`, actual[column], value);
    }
    const fault = job.runs[index]?.fault ?? null;
    compareFault(job.name, `error of attempt ${index + 1}`, rows[index]?.["error"] ?? null, fault);
  }
}

function compareResults(job: Job, { job: shown, results }: Seen): void {
  const { outcome, name } = job;
  differ(name, "the number of results", results?.length ?? 0, outcome === null ? 0 : 1);
  const result = results?.[0];
  differ(name, "result_id", shown["result_id"], result?.["id"]);
  if (outcome === null || result === undefined) return;
  differ(name, "the result", result["result"], outcome.value);
  differ(name, "artifact_ref", result["artifact_ref"], outcome.reference);
}

/** Returns 32 hex digits that are derived from the job and the attempt. */
function traceId(id: string, attempt: number): string {
  const number = Buffer.alloc(4);
  number.writeInt32BE(attempt);
  const job = Buffer.from(id.replaceAll("-", ""), "hex");
  return createHash("sha256").update(job).update(number).digest("hex").slice(0, 32);
}

/** Requires that idempotency keys belong to the right jobs, and that no deleted key exists. */
async function compareKeys(stage: Stage): Promise<void> {
  const rows = await stage.kernel.query<{ line: string }>(
    "select tenant_id || ' ' || type || ' ' || idempotency_key || ' → ' || job_id as line from jobforge.job_keys order by 1",
    [],
  );
  const keys = stage.base.keys.entries().filter(([, key]) => isComparable(stage, key.job));
  const expected = new Set(keys.map(([id, key]) => `${id} → ${stage.idOf(key.job)}`));
  const overdue = new Set(
    stage.base.keys
      .entries()
      .filter(([, key]) => !isComparable(stage, key.job))
      .map(([, key]) => stage.idOf(key.job)),
  );
  for (const { line } of rows) {
    const isAllowed = expected.delete(line) || overdue.has(line.slice(-36));
    if (!isAllowed) throw new Divergence(`there is a key ${named(stage, line)} that should not exist`);
  }
  for (const line of expected) throw new Divergence(`the key ${named(stage, line)} is missing`);
}

/** Returns the line with names of jobs instead of their ids. */
function named(stage: Stage, line: string): string {
  return line.replace(/[0-9a-f-]{36}/g, (id) => stage.nameOf(id) ?? id);
}

/** Requires that every audited action is in the audit log once. */
async function compareAudit(stage: Stage): Promise<void> {
  const rows = await stage.kernel.query<{ line: string }>(
    "select action || ' ' || entity_id || ' of ' || tenant_id || ' by ' || actor as line from jobforge_audit_log",
    [],
  );
  const actual = rows.map(({ line }) =>
    line.replace(/ ([0-9a-f-]{36}) of/, (_, id) => ` ${stage.nameOf(id) ?? id} of`),
  );
  const [is, should] = [actual.sort(), stage.base.audit.values().sort()];
  const extra = is.find((line, index) => line !== should[index]);
  const missing = should.find((line, index) => line !== is[index]);
  if (extra === missing) return;
  throw new Divergence(
    `the audit log has ${extra ?? "nothing"} where it should have ${missing ?? "nothing"}`,
  );
}

/** Requires that no table has rows of a deleted job, and that exactly the live jobs hold their dedupe keys. */
async function compareLeftovers(stage: Stage): Promise<void> {
  const rows = await stage.kernel.query<{ line: string }>(
    `select l.what || ' of ' || l.job_id as line
     from (
       select 'a payload' as what, job_id from jobforge.payloads
       union all select 'an attempt', job_id from jobforge.attempts
     ) l
     where not exists (select from jobforge_jobs j where j.id = l.job_id)
     union all
     select 'a dedupe key of ' || d.job_id
     from jobforge.dedupe_keys d
     where not exists (
       select from jobforge.live_rows l
       where l.id = d.job_id and (l.tenant_id, l.type, l.dedupe_key) = (d.tenant_id, d.type, d.dedupe_key))
     union all
     select 'a job without its dedupe key, ' || l.id
     from jobforge.live_rows l
     where l.dedupe_key is not null and not exists (select from jobforge.dedupe_keys d where d.job_id = l.id)`,
    [],
  );
  for (const { line } of rows) throw new Divergence(`${named(stage, line)} was left behind`);
}

/** Learns which overdue jobs and keys are deleted, because the model does not predict when retention deletes them. */
export async function adoptRetention(stage: Stage): Promise<void> {
  const overdue = stage.base.known().filter((job) => isOverdue(job, stage.now) && stage.hasId(job.name));
  if (overdue.length === 0) return;
  const ids = overdue.map((job) => stage.idOf(job.name));
  const rows = await stage.kernel.query<{ id: string }>(
    "select id from jobforge_jobs where id = any ($1::uuid[])",
    [ids],
  );
  const keys = await stage.kernel.query<{ line: string }>(
    "select tenant_id || ' ' || type || ' ' || idempotency_key as line from jobforge.job_keys where job_id = any ($1::uuid[])",
    [ids],
  );
  const kept = new Set(rows.map((row) => row.id));
  const keptKeys = new Set(keys.map((row) => row.line));
  for (const job of overdue) {
    if (!kept.has(stage.idOf(job.name))) stage.base.change(job, { forgotten: true });
    for (const [id, key] of stage.base.keys.entries()) {
      if (key.job === job.name && !keptKeys.has(id)) stage.base.keys.delete(id);
    }
  }
}
