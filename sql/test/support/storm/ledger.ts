/** Records the results that the clients of a storm got, and compares them with the database at the end. */
import type { Sql } from "../kernel.ts";
import type { Report, Settlement } from "../settle.ts";

/** A job that a client may try to change. A loose job has no key, so only changes by id wait for it. */
export interface Known {
  readonly id: string;
  readonly tenant: string;
  readonly type: string;
  readonly loose: boolean;
}

/** A run that a worker holds. */
export interface Run {
  readonly id: string;
  readonly attempt: number;
  readonly type: string;
}

/** The type without history: its jobs are deleted when they succeed or are canceled. */
export const unkept = "unkept";

type JobRow = {
  id: string;
  attempts: number;
  status: string;
  token: string | null;
  keyed: boolean;
};

type AttemptRow = {
  job_id: string;
  attempt_no: number;
  status: string;
  worker_id: string;
};

const nameOf = (id: string, attempt: number): string => `${id} attempt ${attempt}`;

/** The ledger of a storm. It contains only committed results. */
export class Ledger {
  readonly known: Known[] = [];
  /** Descriptions of results that must not occur. */
  readonly objections: string[] = [];
  readonly #created = new Set<string>();
  readonly #returned = new Set<string>();
  readonly #forgotten = new Set<string>();
  /** The worker that claimed each attempt, and the reported end. */
  readonly #claims = new Map<string, string>();
  readonly #ends = new Map<string, string>();
  /** Payloads of children without keys whose parents succeeded: each must be exactly one job. */
  readonly #children = new Set<string>();
  #keyedChildren = 0;

  enqueued(job: Known, outcome: string): void {
    this.#returned.add(job.id);
    if (outcome !== "created") return;
    if (this.#created.has(job.id)) this.objections.push(`job ${job.id} was created twice`);
    this.#created.add(job.id);
    this.known.push(job);
  }

  claimed(worker: string, runs: readonly Run[]): void {
    for (const { id, attempt } of runs) {
      const name = nameOf(id, attempt);
      if (this.#claims.has(name)) this.objections.push(`${name} was claimed twice`);
      this.#claims.set(name, worker);
    }
  }

  /** Enters the results of reports. Reports of `held` runs must be accepted, others must not. */
  settled(reports: readonly Report[], held: readonly Run[], { settled, claim_error }: Settlement): void {
    if (claim_error !== undefined) this.objections.push(`claim: ${claim_error.code} ${claim_error.message}`);
    if (settled.length !== reports.length)
      this.objections.push("a settle did not return a row for every report");
    const open = new Map(held.map((run) => [nameOf(run.id, run.attempt), run]));
    for (const [n, { id, attempt, outcome, status }] of settled.entries()) {
      const name = nameOf(String(id), Number(attempt));
      const run = open.get(name);
      open.delete(name);
      if ((outcome === "ok") !== (run !== undefined))
        this.objections.push(`${name} got the outcome ${outcome}`);
      if (run !== undefined && status !== null) this.#ended(name, run, reports[n] ?? {}, status);
    }
  }

  /** Enters the end of a run that was reported by a separate call. */
  completed(run: Run, reported: string, status: string): void {
    this.#ended(nameOf(run.id, run.attempt), run, { status: reported }, status);
  }

  /** Enters a cancel: a job without history is deleted at once, or when its run ends or is lost. */
  canceled(job: Known): void {
    if (job.type === unkept) this.#forgotten.add(job.id);
  }

  #ended(name: string, run: Run, report: Report, status: string): void {
    if (this.#ends.has(name)) this.objections.push(`${name} was ended twice`);
    this.#ends.set(name, String(report["status"]));
    if (run.type === unkept && (status === "succeeded" || status === "canceled")) this.#forgotten.add(run.id);
    if (status !== "succeeded" || !Array.isArray(report["children"])) return;
    for (const child of report["children"] as { payload: { token: string } }[]) {
      if ("idempotency_key" in child || "dedupe_key" in child) this.#keyedChildren += 1;
      else this.#children.add(child.payload.token);
    }
  }

  /** Returns all differences between the database and the ledger. */
  async audit(db: Sql): Promise<string[]> {
    const jobs = await db.query<JobRow>(
      `select id, attempts, status, payload ->> 'token' as token,
         num_nonnulls(idempotency_key, dedupe_key) > 0 as keyed
       from jobforge_jobs`,
    );
    const attempts = await db.query<AttemptRow>(
      "select job_id, attempt_no, status, worker_id from jobforge_job_attempts order by job_id, attempt_no",
    );
    return [...this.objections, ...this.#auditJobs(jobs), ...this.#auditAttempts(jobs, attempts)];
  }

  #auditJobs(jobs: readonly JobRow[]): string[] {
    const found = new Map(jobs.map((job) => [job.id, job]));
    const unknown = jobs.filter((job) => !this.#created.has(job.id));
    const loose = unknown.filter((job) => !job.keyed);
    const tokens = new Set(loose.map((job) => job.token ?? job.id));
    const complaints = [...this.#created, ...this.#returned]
      .filter((id) => !found.has(id) && !this.#forgotten.has(id))
      .map((id) => `job ${id} is missing`);
    if (found.size !== jobs.length) complaints.push("a job exists twice");
    if (tokens.size !== loose.length) complaints.push("a child without keys exists twice");
    for (const token of this.#children) {
      if (!tokens.delete(token)) complaints.push(`child ${token} is missing`);
    }
    complaints.push(...[...tokens].map((token) => `no client enqueued ${token}`));
    if (unknown.length - loose.length > this.#keyedChildren) complaints.push("there are too many keyed jobs");
    return complaints;
  }

  #auditAttempts(jobs: readonly JobRow[], attempts: readonly AttemptRow[]): string[] {
    const complaints: string[] = [];
    const numbers = new Map<string, number[]>(jobs.map((job) => [job.id, []]));
    for (const { job_id, attempt_no } of attempts) numbers.get(job_id)?.push(attempt_no);
    for (const { id, attempts: last } of jobs) {
      const listed = numbers.get(id) ?? [];
      if (listed.length !== last || listed.some((number, n) => number !== n + 1)) {
        complaints.push(`job ${id} has run ${last} times and shows ${listed.join()}`);
      }
    }
    const canceled = new Set(jobs.filter((job) => job.status === "canceled").map((job) => job.id));
    const shown = new Set<string>();
    for (const { job_id, attempt_no, status, worker_id } of attempts) {
      const name = nameOf(job_id, attempt_no);
      const end = this.#ends.get(name) ?? "lost";
      shown.add(name);
      if (this.#claims.get(name) !== worker_id) complaints.push(`${name} is shown as of ${worker_id}`);
      if (status !== end && !(status === "canceled" && canceled.has(job_id))) {
        complaints.push(`${name} ended as ${end} and is shown as ${status}`);
      }
    }
    for (const name of this.#claims.keys()) {
      const id = name.slice(0, 36);
      if (!shown.has(name) && !this.#forgotten.has(id)) complaints.push(`${name} is not shown`);
    }
    return complaints;
  }
}
