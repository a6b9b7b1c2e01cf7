/** /v1/jobs: enqueue, look at and steer jobs. */
import { createRoute, z } from "@hono/zod-openapi";
import type { ApiSession, Arguments, Rows } from "../calls.ts";
import { RequestError } from "../errors.ts";
import {
  type Api,
  answers,
  body,
  idParameter,
  json,
  limitParameter,
  pageOf,
  problem,
  required,
  respond,
  respondPage,
  serve,
  servePage,
  serveRow,
  serveValue,
  several,
  tenantParameter,
  tenantQuery,
} from "./api.ts";
import { Id, Status, Time, Type } from "./schemas/basic.ts";
import {
  Attempt,
  EnqueuedJob,
  Job,
  JobChanges,
  JobResult,
  NewJob,
  Reason,
  searchFields,
} from "./schemas/jobs.ts";

const tags = ["Jobs"];
const missing = { 404: problem("The tenant has no such job") };
const refused = { 409: problem("There is no such job, or its status does not allow it") };

const ofJob = { params: idParameter, query: tenantQuery };

interface Asked {
  readonly id: string;
  readonly tenant_id?: string | undefined;
}

/** Which job a request means. */
function jobOf({ id, tenant_id }: Asked, session: ApiSession): Arguments {
  return { p_job_id: id, p_tenant_id: session.tenant(tenant_id) };
}

export function jobRoutes(api: Api): void {
  enqueue(api);
  list(api);
  get(api);
  update(api);
  cancel(api);
  reschedule(api);
  attempts(api);
  result(api);
  explain(api);
}

function enqueue(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/jobs",
    operationId: "enqueueJob",
    summary: "Enqueue a job",
    tags,
    request: {
      query: tenantQuery,
      headers: z.object({
        "idempotency-key": z.string().min(1).max(1024).optional().openapi({
          description: "The job's idempotency key: the same key again answers the job that exists",
        }),
      }),
      body: body(NewJob),
    },
    responses: answers(EnqueuedJob, "A job with this key existed, and is as it was or was replaced", {
      201: json(EnqueuedJob, "The job was created"),
    }),
  });
  serve(api, route, async (c) => {
    const { tenant_id } = c.req.valid("query");
    const { payload = {}, idempotency_key, ...job } = c.req.valid("json");
    const key = c.req.valid("header")["idempotency-key"];
    if (key !== undefined && idempotency_key != null && key !== idempotency_key)
      throw new RequestError(400, "JF002", "The header Idempotency-Key differs from idempotency_key", {
        name: "invalid_argument",
        field: "idempotency_key",
      });
    const named = Object.entries({ ...job, payload }).map(([name, value]) => [`p_${name}`, value]);
    const text = await api.services.as(c, (session) =>
      session.value("jobforge_enqueue_job", {
        ...Object.fromEntries(named),
        p_tenant_id: session.tenant(tenant_id),
        p_idempotency_key: idempotency_key ?? key,
        p_traceparent: c.get("traceparent"),
      }),
    );
    const { id, outcome } = JSON.parse(text ?? "{}") as { id: string; outcome: string };
    return outcome === "created"
      ? respond(text ?? "", 201, { location: `/v1/jobs/${id}` })
      : respond(text ?? "");
  });
}

const listQuery = z.strictObject({
  ...tenantParameter,
  ...limitParameter,
  status: several(Status),
  type: several(Type),
  tags: several(z.string()),
  ...searchFields,
  cursor: Id.optional().openapi({ description: "The `cursor` of the page before" }),
});

function list(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/jobs",
    operationId: "listJobs",
    summary: "List jobs, newest first",
    description: "All given filters must hold. An operator who names no tenant sees those of all tenants.",
    tags,
    request: { query: listQuery },
    responses: answers(pageOf(Job), "A page of jobs"),
  });
  serve(api, route, async (c) => {
    const { tenant_id, ...filters } = c.req.valid("query");
    const rows = await api.services.as(c, (session) => newestJobs(session, tenant_id, filters));
    return respondPage(rows, filters.limit);
  });
}

/** The newest jobs of the tenant that is named, else of the caller's; of every tenant for an operator who has none. */
export function newestJobs(
  session: ApiSession,
  tenant: string | undefined,
  filters: Readonly<Record<string, unknown>>,
): Promise<Rows> {
  const tenantId = session.tenant(tenant);
  return tenantId === null && session.caller.role === "jobforge_operator"
    ? session.rows("jobforge_search_jobs", { p_filters: filters })
    : session.rows("jobforge_list_jobs", { p_tenant_id: tenantId, p_filters: filters });
}

function get(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/jobs/{id}",
    operationId: "getJob",
    summary: "Show a job",
    tags,
    request: ofJob,
    responses: answers(Job, "The job", missing),
  });
  serveRow(api, route, "jobforge_get_job", "job", (c, session) =>
    jobOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
  );
}

function update(api: Api): void {
  const route = createRoute({
    method: "patch",
    path: "/v1/jobs/{id}",
    operationId: "updateJob",
    summary: "Change a queued job",
    tags,
    request: { ...ofJob, body: body(JobChanges) },
    responses: answers(Job, "The job as it is now", refused),
  });
  serveValue(api, route, "jobforge_update_job", "job", (c, session) => ({
    ...jobOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
    p_changes: c.req.valid("json"),
  }));
}

function cancel(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/jobs/{id}/cancel",
    operationId: "cancelJob",
    summary: "Cancel a job",
    description: "A queued job at once; a running one when its run ends, and its handler is told.",
    tags,
    request: ofJob,
    responses: answers(
      z.looseObject({ id: Id, status: Status, cancel_requested: z.boolean() }),
      "Canceled, or to be canceled",
      refused,
    ),
  });
  serveValue(api, route, "jobforge_cancel_job", "job", (c, session) =>
    jobOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
  );
}

const Reschedule = z
  .strictObject({ run_at: Time.nullish(), max_attempts: z.int().min(1).max(100_000).nullish() })
  .openapi("Reschedule");

function reschedule(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/jobs/{id}/reschedule",
    operationId: "rescheduleJob",
    summary: "Run a queued, failed or dead job at another time",
    tags,
    request: { ...ofJob, body: body(Reschedule) },
    responses: answers(
      z.looseObject({ id: Id, status: Status, run_at: Time, max_attempts: z.int() }),
      "The job is queued",
      refused,
    ),
  });
  serveValue(api, route, "jobforge_reschedule_job", "job", (c, session) => {
    const { run_at, max_attempts } = c.req.valid("json");
    return {
      ...jobOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
      p_run_at: run_at,
      p_max_attempts: max_attempts,
    };
  });
}

function attempts(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/jobs/{id}/attempts",
    operationId: "listAttempts",
    summary: "List a job's executions in their order",
    tags,
    request: ofJob,
    responses: answers(pageOf(Attempt), "All of them; none when the tenant has no such job"),
  });
  servePage(api, route, "jobforge_list_attempts", (c, session) =>
    jobOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
  );
}

function result(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/jobs/{id}/result",
    operationId: "getResult",
    summary: "Show what became of a job",
    tags,
    request: ofJob,
    responses: answers(JobResult, "Its status, and its result or error once it has ended", missing),
  });
  serveValue(api, route, "jobforge_get_result", "job", (c, session) =>
    jobOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
  );
}

function explain(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/jobs/{id}/explain",
    operationId: "explainJob",
    summary: "Say why a job is not running now, or what became of it",
    tags,
    request: ofJob,
    responses: answers(pageOf(Reason), "The reasons, the first one first", missing),
  });
  serve(api, route, async (c) => {
    const text = await api.services.as(c, (session) =>
      session.value(
        "jobforge_explain_job",
        jobOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
      ),
    );
    return respond(`{"items":${required(text, "job")},"cursor":null}`);
  });
}
