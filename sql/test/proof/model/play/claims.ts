/** Steps of workers that claim: claim, settle, and a repeated settle. */
import { claim, IllegalClaim, isNextDue, type Wanted } from "../claim.ts";
import { type RunReference, settle } from "../runs.ts";
import type { Model } from "../state.ts";
import type { StepOf, Via } from "../steps.ts";
import { describeReport, endOf, forgetRuns, reportDocument, shownRun, typesOf } from "./reports.ts";
import { shown, tenantOf } from "./specs.ts";
import { Divergence, idle, type Process, type Report, type Settle, type Stage, same } from "./stage.ts";

/** A claimed job as the kernel returns it. */
interface Claimed {
  readonly id: string;
  readonly tenant_id: string;
  readonly type: string;
  readonly payload: { readonly mark: number };
  readonly priority: number;
  readonly attempts: number;
  readonly max_attempts: number;
}

/** Checks the claimed jobs, and learns the ids of new jobs. */
function adopt(stage: Stage, model: Model, wanted: Wanted, rows: readonly Claimed[]): RunReference[] {
  const jobs = legally(() =>
    claim(
      model,
      wanted,
      rows.map((row) => row.payload.mark),
    ),
  );
  return jobs.map((job, index) => {
    const row = rows[index];
    same(`the place of ${job.name} in the result`, row?.payload.mark, job.payload.mark);
    stage.bind(job.name, row?.id ?? "");
    same(
      `the claim of ${job.name}`,
      [row?.tenant_id, row?.type, row?.priority, row?.attempts, row?.max_attempts],
      [job.tenant, job.type, job.priority, job.attempts, job.maxAttempts],
    );
    return { name: job.name, attempt: job.attempts };
  });
}

function legally<Result>(judge: () => Result): Result {
  try {
    return judge();
  } catch (error) {
    throw error instanceof IllegalClaim ? new Divergence(error.message) : error;
  }
}

function describeClaim(limit: number, types: readonly string[] | null, tenant: string | null): string {
  return `${limit} of ${types?.join("") ?? "any"}${tenant === null ? "" : ` of ${shown(tenant)}`}`;
}

export async function playClaim(stage: Stage, step: StepOf<"claim">): Promise<string> {
  const process = stage.process(step.worker);
  const types = typesOf(stage, step.types);
  // A bound worker that requests another tenant is refused. Another kind of step tests that.
  const tenant = step.tenant === null || process.bound !== null ? null : tenantOf(stage, step.tenant);
  const wanted = {
    worker: process.name,
    limit: step.limit,
    types,
    tenant: process.bound ?? tenant,
    isBound: process.bound !== null,
    isHinted: false,
  };
  const fate = { kept: "", lost: ", result lost", "rolled back": ", rolled back" };
  stage.doing = `${process.name} claims ${describeClaim(step.limit, types, tenant)}${fate[step.answer]}`;
  const session = stage.kernel.sessions[process.session];
  if (step.answer === "rolled back") await session.run("begin");
  const answer = await stage.call("direct", {
    session: process.session,
    sql: "select to_jsonb(j) as answer from jobforge_claim_jobs($1, $2, $3, $4) j",
    values: [process.name, step.limit, types, tenant],
  });
  if (step.answer === "rolled back") await session.run("rollback");
  if (answer.code !== null) throw new Divergence(`refused with ${answer.code}: ${answer.message}`);
  const draft = stage.base.above();
  const runs = adopt(stage, draft, wanted, answer.rows as Claimed[]);
  if (step.answer !== "rolled back") draft.merge();
  if (step.answer === "kept") process.held.push(...runs);
  if (step.answer === "lost") forgetRuns(stage, process, runs);
  return runs.map(shownRun).join(", ") || "nothing";
}

export async function playSettle(stage: Stage, step: StepOf<"settle">): Promise<string> {
  const process = stage.busyProcess(step.worker);
  const reports = step.ends.flatMap(({ run, end }): Report[] => {
    const meant = stage.pickRun(process, run);
    return meant === undefined ? [] : [{ run: meant, end: endOf(stage, end) }];
  });
  if (step.isInTransaction && process.bound === null) {
    // A handler's transaction claims nothing and creates no children: their ids could not be learned before it ends.
    const childless = reports.map(({ run, end }) => ({ run, end: { ...end, children: [] } }));
    const sent = { reports: childless, limit: 0, types: null, tenant: null, hint: null };
    return await sendSettle(stage, process, sent, "handler", false);
  }
  const tenant = step.tenant === null || process.bound !== null ? null : tenantOf(stage, step.tenant);
  const hint = step.isHinted ? process.hint : null;
  const sent = { reports, limit: step.claim, types: typesOf(stage, step.types), tenant, hint };
  return await sendSettle(stage, process, sent, "direct", step.isLost);
}

/** Repeats the worker's last settle, as after a lost response. */
export async function playRetrySettle(stage: Stage, step: StepOf<"retrySettle">): Promise<string> {
  const senders = stage.processes.filter((process) => process.sent !== null);
  const process = senders[step.worker % senders.length] ?? stage.process(step.worker);
  return process.sent === null ? idle : await sendSettle(stage, process, process.sent, "direct", false);
}

interface SettleResult {
  readonly settled: readonly { id: string; attempt: number; outcome: string; status: string | null }[];
  readonly jobs: readonly Claimed[];
  readonly hint: unknown;
  readonly next_due_at: string | null;
  readonly claim_error?: unknown;
}

async function sendSettle(
  stage: Stage,
  process: Process,
  sent: Settle,
  via: Via,
  isLost: boolean,
): Promise<string> {
  const bound = via === "handler" ? null : process.bound;
  const wanted: Wanted = {
    worker: process.name,
    limit: sent.limit,
    types: sent.types,
    tenant: bound ?? sent.tenant,
    isBound: bound !== null,
    isHinted: sent.hint !== null,
  };
  const reports = sent.reports.map((report) => describeReport(stage, report)).join("; ");
  const asked = sent.limit === 0 ? "" : ` and claims ${describeClaim(sent.limit, sent.types, sent.tenant)}`;
  const how = `${via === "handler" ? " in a transaction" : ""}${sent.hint === null ? "" : " with a hint"}`;
  stage.doing = `${process.name} settles [${reports}]${asked}${how}${isLost ? ", result lost" : ""}`;
  return await stage.perform(
    via,
    {
      session: via === "handler" ? "handler" : process.session,
      sql: "select jobforge_settle_jobs($1, $2, $3, $4, $5, $6) as answer",
      values: [
        process.name,
        JSON.stringify(sent.reports.map((report) => reportDocument(stage, report))),
        sent.limit,
        sent.types,
        sent.tenant,
        sent.hint === null ? null : JSON.stringify(sent.hint),
      ],
    },
    (model) => settle(model, process.name, bound, sent.reports),
    (predicted, [row], model) => {
      const answer = row as SettleResult;
      same("the error of the claim", answer.claim_error ?? null, null);
      same(
        "settled",
        answer.settled.map(({ id, attempt, outcome, status }) => [id, attempt, outcome, status]),
        sent.reports.map(({ run }, index) => [
          stage.idOf(run.name),
          run.attempt,
          predicted[index]?.outcome,
          predicted[index]?.status,
        ]),
      );
      const runs = sent.limit === 0 ? [] : adopt(stage, model, wanted, answer.jobs);
      const nextDue = answer.next_due_at === null ? null : Date.parse(answer.next_due_at);
      requireNextDue(model, sent.types, wanted.tenant, nextDue);
      process.sent = via === "direct" ? sent : process.sent;
      if (!isLost) remember(stage, process, sent, runs, answer.hint);
      const outcomes = predicted.map((one) => one.status ?? one.outcome).join(", ");
      return [outcomes, runs.map(shownRun).join(", ")].filter((part) => part !== "").join("; ") || "nothing";
    },
  );
}

/** Updates a process with the result of its settle. */
function remember(
  stage: Stage,
  process: Process,
  sent: Settle,
  runs: readonly RunReference[],
  hint: unknown,
): void {
  forgetRuns(
    stage,
    process,
    sent.reports.map((report) => report.run),
  );
  process.held.push(...runs);
  if (sent.limit > 0) process.hint = hint;
}

/** Fails unless this may be the time when the next waiting job of the tenant, or of all tenants, is due. */
export function requireNextDue(
  model: Model,
  types: readonly string[] | null,
  tenant: string | null,
  answer: number | null,
): void {
  if (isNextDue(model, types, tenant, answer)) return;
  throw new Divergence(`next_due_at is ${answer === null ? "null" : new Date(answer).toISOString()}`);
}
