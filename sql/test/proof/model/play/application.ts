/** Steps of applications and operators on jobs: enqueue, cancel, reschedule and update. */
import { type Enqueued, enqueue, enqueueAll } from "../enqueue.ts";
import { boundTenant, type SessionName } from "../kernel.ts";
import type { Job, Model, Status } from "../state.ts";
import { type Changes, cancel, cancelAll, matching, reschedule, rescheduleAll, update } from "../steer.ts";
import type { StepOf, Via } from "../steps.ts";
import {
  bits,
  describeSpec,
  documentOf,
  filterDocument,
  filterOf,
  payloadDocument,
  shown,
  specOf,
  tagNames,
  tenantOf,
  time,
} from "./specs.ts";
import { type Call, Divergence, idle, type Stage, same } from "./stage.ts";

/** Returns the session of a call: the tenant's own if it has one, otherwise an operator's. */
function sessionFor(via: Via, byTenant: boolean, tenant: string): SessionName {
  if (via !== "direct") return via;
  return byTenant && tenant === boundTenant ? "tenant" : "operator";
}

/** Workers may enqueue, but may not steer jobs. */
function steerVia(via: Via): Via {
  return via === "handler" ? "application" : via;
}

function calling(via: Via, byTenant: boolean, tenant: string, sql: string, values: readonly unknown[]): Call {
  return { session: sessionFor(via, byTenant, tenant), sql, values, tenant };
}

function actorOf(stage: Stage, call: Call): string {
  return stage.kernel.sessions[call.session].role;
}

/** Returns the caller of a step for the report. */
function by(call: Call, via: Via): string {
  return via === "direct" ? call.session : `${call.session}, in its transaction,`;
}

const enqueueCall = `select jobforge_enqueue_job($1, $2, $3, p_idempotency_key => $4, p_run_at => $5, p_max_attempts => $6,
  p_priority => $7, p_dedupe_key => $8, p_dedupe_mode => $9, p_tags => $10, p_subject => $11, p_expires_at => $12) as answer`;

export async function playEnqueue(stage: Stage, step: StepOf<"enqueue">): Promise<string> {
  const tenant = tenantOf(stage, step.tenant);
  const spec = specOf(stage, step.job);
  const call = calling(step.via, step.byTenant, tenant, enqueueCall, [
    tenant,
    spec.type,
    JSON.stringify(payloadDocument(spec.payload)),
    spec.idempotencyKey,
    time(spec.runAt),
    spec.maxAttempts,
    spec.priority,
    spec.dedupeKey,
    spec.dedupeMode,
    spec.tags,
    spec.subject,
    time(spec.expiresAt),
  ]);
  stage.doing = `${by(call, step.via)} enqueues for ${shown(tenant)}: ${describeSpec(stage, spec)}`;
  return await stage.perform(
    step.via,
    call,
    (model) => enqueue(model, tenant, spec),
    (predicted, [row], model) => {
      const answer = row as Record<string, unknown>;
      meet(stage, predicted, answer);
      const job = model.job(predicted.name);
      same("the status", answer["status"], job.forgotten ? null : job.status);
      if (!job.forgotten) same("the payload's mark", markOf(answer["payload"]), job.payload.mark);
      return `${predicted.outcome} ${predicted.name}`;
    },
  );
}

function markOf(payload: unknown): unknown {
  return (payload as { mark?: unknown } | null)?.mark;
}

/** Compares the result for one job, and learns its id. */
function meet(stage: Stage, predicted: Enqueued, answer: Record<string, unknown>): void {
  const id = String(answer["id"]);
  same("the outcome", answer["outcome"], predicted.outcome);
  if (predicted.outcome === "created" && stage.nameOf(id) !== undefined) {
    throw new Divergence(`a new job has the id of ${stage.nameOf(id)}`);
  }
  stage.bind(predicted.name, id);
}

export async function playEnqueueMany(stage: Stage, step: StepOf<"enqueueMany">): Promise<string> {
  const tenant = tenantOf(stage, step.tenant);
  const specs = step.jobs.map((drawn) => specOf(stage, drawn));
  const call = calling(step.via, step.byTenant, tenant, "select jobforge_enqueue_jobs($1, $2) as answer", [
    tenant,
    JSON.stringify(specs.map(documentOf)),
  ]);
  const list = specs.map((spec) => describeSpec(stage, spec)).join("; ");
  stage.doing = `${by(call, step.via)} enqueues for ${shown(tenant)}: ${list}`;
  return await stage.perform(
    step.via,
    call,
    (model) => enqueueAll(model, tenant, specs),
    (predicted, [row]) => {
      const answers = row as Record<string, unknown>[];
      same("the number of results", answers.length, predicted.length);
      for (const [index, one] of predicted.entries()) meet(stage, one, answers[index] ?? {});
      return predicted.map((one) => `${one.outcome} ${one.name}`).join(", ");
    },
  );
}

export async function playCancel(stage: Stage, step: StepOf<"cancel">): Promise<string> {
  const via = steerVia(step.via);
  const job = stage.pickJob(step.job, via);
  if (job === undefined) return idle;
  const { tenant } = job;
  const call = calling(via, step.byTenant, tenant, "select jobforge_cancel_job($1, $2) as answer", [
    stage.idOf(job.name),
    tenant,
  ]);
  stage.doing = `${by(call, via)} cancels ${job.name} (${job.status})`;
  return await stage.perform(
    via,
    call,
    (model) => cancel(model, actorOf(stage, call), tenant, job.name),
    (after, [row]) => {
      const answer = row as Record<string, unknown>;
      const isAsked = after.status === "running";
      same("the result", [answer["status"], answer["cancel_requested"]], [after.status, isAsked]);
      return after.status;
    },
  );
}

export async function playReschedule(stage: Stage, step: StepOf<"reschedule">): Promise<string> {
  const via = steerVia(step.via);
  const job = stage.pickJob(step.job, via);
  if (job === undefined) return idle;
  const { tenant } = job;
  const runAt = step.runIn === null ? null : stage.now + step.runIn;
  const call = calling(
    via,
    step.byTenant,
    tenant,
    "select jobforge_reschedule_job($1, $2, $3, $4) as answer",
    [stage.idOf(job.name), tenant, time(runAt), step.maxAttempts],
  );
  const when = step.runIn === null ? "now" : `in ${step.runIn / 1000} s`;
  const more = step.maxAttempts === null ? "" : ` max ${step.maxAttempts}`;
  stage.doing = `${by(call, via)} reschedules ${job.name} (${job.status}) ${when}${more}`;
  return await stage.perform(
    via,
    call,
    (model) =>
      reschedule(model, actorOf(stage, call), tenant, job.name, { runAt, maxAttempts: step.maxAttempts }),
    (after, [row]) => {
      const answer = row as Record<string, unknown>;
      same("the result", [answer["status"], answer["max_attempts"]], ["queued", after.maxAttempts]);
      same("run_at", Date.parse(String(answer["run_at"])), after.runAt);
      return `max ${after.maxAttempts}`;
    },
  );
}

export async function playUpdate(stage: Stage, step: StepOf<"update">): Promise<string> {
  const via = steerVia(step.via);
  const job = stage.pickJob(step.job, via);
  if (job === undefined) return idle;
  const { tenant } = job;
  const runAt = typeof step.runIn === "number" ? stage.now + step.runIn : null;
  const changes: Changes = {
    ...(step.payload === null ? {} : { payload: { mark: stage.nextMark(), large: step.payload } }),
    ...(step.priority === null ? {} : { priority: step.priority }),
    ...(step.tags === null ? {} : { tags: bits(tagNames, step.tags) }),
    ...(step.runIn === null ? {} : { runAt }),
  };
  const { payload, runAt: _, ...rest } = changes;
  const document = {
    ...rest,
    ...(payload === undefined ? {} : { payload: payloadDocument(payload) }),
    ...(step.runIn === null ? {} : { run_at: time(runAt) }),
  };
  const call = calling(via, step.byTenant, tenant, "select jobforge_update_job($1, $2, $3) as answer", [
    stage.idOf(job.name),
    tenant,
    JSON.stringify(document),
  ]);
  stage.doing = `${by(call, via)} updates ${job.name} (${job.status}) ${Object.keys(document).join(", ")}`;
  return await stage.perform(
    via,
    call,
    (model) => update(model, actorOf(stage, call), tenant, job.name, changes),
    (after, [row]) => {
      const answer = row as Record<string, unknown>;
      same("the priority", answer["priority"], after.priority);
      same("run_at", Date.parse(String(answer["run_at"])), after.runAt);
      return "changed";
    },
  );
}

/** Returns the page of jobs that a bulk change selects: newest first, in the statuses that it can change. */
function page(stage: Stage, model: Model, step: StepOf<"cancelMany" | "rescheduleMany">): Job[] {
  const filter = filterOf(step.filter);
  const usable: Status[] = step.kind === "cancelMany" ? ["queued", "running"] : ["queued", "failed", "dead"];
  const statuses = usable.filter((status) => filter.statuses?.includes(status) ?? true);
  const found = matching(model, tenantOf(stage, step.tenant), { ...filter, statuses });
  return stage.newestFirst(found).slice(0, step.limit);
}

/** Plays a bulk cancel or reschedule. */
export async function playMany(stage: Stage, step: StepOf<"cancelMany" | "rescheduleMany">): Promise<string> {
  const via = steerVia(step.via);
  const tenant = tenantOf(stage, step.tenant);
  const document = filterDocument(filterOf(step.filter));
  if (Object.keys(document).length === 0) return idle;
  const isCancel = step.kind === "cancelMany";
  const name = isCancel ? "jobforge_cancel_jobs" : "jobforge_reschedule_jobs";
  const call = calling(via, step.byTenant, tenant, `select ${name}($1, $2, $3) as answer`, [
    tenant,
    JSON.stringify(document),
    step.limit,
  ]);
  const verb = isCancel ? "cancels" : "reschedules";
  stage.doing = `${by(call, via)} ${verb} jobs of ${shown(tenant)} ${JSON.stringify(document)} limit ${step.limit}`;
  return await stage.perform(
    via,
    call,
    (model) => {
      const jobs = page(stage, model, step);
      const change = isCancel ? cancelAll : rescheduleAll;
      return { ...change(model, actorOf(stage, call), tenant, jobs), jobs };
    },
    ({ matched, changed, jobs }, [row]) => {
      const answer = row as Record<string, unknown>;
      same("matched and changed", [answer["matched"], answer["changed"]], [matched, changed]);
      return `${changed} of ${jobs.map((job) => job.name).join(", ") || "none"}`;
    },
  );
}
