/** /v1/jobs: enqueue, show and steer jobs. */
import { createRoute } from "@hono/zod-openapi";
import { bounds } from "@jobforge/sdk-ts";
import type { Context } from "hono";
import type { Rows } from "../answers.ts";
import type { ApiSession } from "../calls.ts";
import { RequestError } from "../errors.ts";
import { type JsonText, memberOf, withTexts } from "../json-text.ts";
import type { Environment } from "../services.ts";
import { isFromSession } from "../session.ts";
import {
  type Api,
  body,
  json,
  pageText,
  problem,
  required,
  respond,
  respondPage,
  responses,
  serve,
  serveRow,
  serveValue,
} from "./api.ts";
import { unmaskedBody } from "./masks.ts";
import { pageOf } from "./schemas/basic.ts";
import {
  Attempt,
  AttemptQuery,
  EnqueuedJob,
  EnqueueHeaders,
  Job,
  JobLog,
  JobPage,
  JobQuery,
  JobResult,
  NewJob,
  Reason,
} from "./schemas/jobs.ts";
import { IdParameter, operatorSeesAll, TenantQuery } from "./schemas/parameters.ts";
import { describeCaller } from "./session.ts";
import { jobOf, ofJob, steeringRoutes } from "./steering.ts";

const tags = ["Jobs"];
const missing = { 404: problem("The tenant has no such job") };

export function jobRoutes(api: Api): void {
  enqueue(api);
  list(api);
  get(api);
  steeringRoutes(api);
  attempts(api);
  logs(api);
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
    request: { query: TenantQuery, headers: EnqueueHeaders, body: body(NewJob) },
    responses: responses(EnqueuedJob, "A job with this key existed. `outcome` says whether it was replaced", {
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
    // p_notify says whether the call wakes workers.
    const { notify: notify_to, ...rest } = job;
    const named = Object.entries({ ...rest, notify_to, payload }).map(([name, value]) => [
      `p_${name}`,
      value,
    ]);
    const written = memberOf(await unmaskedBody(c), "payload");
    const text = await api.services.as(c, (session) =>
      session.value("jobforge_enqueue_job", {
        ...Object.fromEntries(named),
        ...(written === undefined ? {} : { p_payload: written }),
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

function list(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/jobs",
    operationId: "listJobs",
    summary: "List jobs, newest first or in another order",
    description: `Returns the jobs that match all given filters. ${operatorSeesAll} Pages of summaries are small
whatever the jobs hold. They have more filters and orders, and a \`cursor\` of their own: filters that no index finds look
at about 10,000 jobs, and \`searched_after\` then says how far.`,
    tags,
    request: { query: JobQuery },
    responses: responses(JobPage, "A page of jobs"),
  });
  serve(api, route, async (c) => {
    const { tenant_id, fields, payload, caller, ...given } = c.req.valid("query");
    const filters = payload === undefined ? given : withPayload(given, payload);
    const asksForSummary = fields === "summary" || (fields === undefined && given.order !== undefined);
    // A session shows no payload without its masks, so its lists have none.
    if (asksForSummary || isFromSession(c.req.raw.headers)) {
      return await withCaller(api, c, caller, async (session) =>
        required(
          await session.value("jobforge_browse_jobs", {
            p_tenant_id: session.tenant(tenant_id),
            p_filters: filters,
          }),
          "tenant",
        ),
      );
    }
    return await withCaller(api, c, caller, async (session) =>
      pageText(await newestJobs(session, tenant_id, filters), given.limit),
    );
  });
}

/** Responds with a page, and with the caller if that is asked for. Both come from one transaction. */
async function withCaller(
  { services }: Api,
  c: Context<Environment>,
  isAsked: "true" | "false" | undefined,
  read: (session: ApiSession) => Promise<string>,
): Promise<Response> {
  const text = await services.as(c, async (session) => {
    const page = await read(session);
    if (isAsked !== "true") return page;
    return `${page.slice(0, -1)},"caller":${JSON.stringify(await describeCaller(services)(session))}}`;
  });
  return respond(text);
}

/** The filters with the payload as it is written: rounded numbers would select other jobs. */
function withPayload(filters: object, payload: string): JsonText {
  try {
    return withTexts({ ...filters, payload: JSON.parse(payload) as unknown }, `{"payload":${payload}}`, [
      "payload",
    ]);
  } catch {
    throw new RequestError(400, "JF002", "payload must be JSON", {
      name: "invalid_argument",
      field: "payload",
    });
  }
}

/**
 * The newest jobs of the given tenant, or else of the caller's tenant. For an operator without a tenant: the newest
 * jobs of all tenants.
 */
export function newestJobs(
  session: ApiSession,
  tenant: string | undefined,
  filters: Readonly<Record<string, unknown>> | JsonText,
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
    responses: responses(Job, "The job", missing),
  });
  serveRow(api, route, "jobforge_get_job", "job", (c, session) => ({
    ...jobOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
    p_masked: isFromSession(c.req.raw.headers),
  }));
}

function attempts(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/jobs/{id}/attempts",
    operationId: "listAttempts",
    summary: "List a job's attempts, first attempt first",
    tags,
    request: { params: IdParameter, query: AttemptQuery },
    responses: responses(pageOf(Attempt), "Up to 200 attempts. Empty if the tenant has no such job"),
  });
  serve(api, route, async (c) => {
    const { tenant_id, cursor } = c.req.valid("query");
    const rows = await api.services.as(c, (session) =>
      session.rows("jobforge_list_attempts", {
        ...jobOf({ ...c.req.valid("param"), tenant_id }, session),
        p_after: cursor,
      }),
    );
    return respondPage(rows, bounds.attempts.max);
  });
}

function logs(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/jobs/{id}/logs",
    operationId: "listLogs",
    summary: "List what a job's handler logged, attempt by attempt",
    description:
      "Logs are kept if the policy of the type has `keep_logs`, and appear when the attempt has ended. Secrets are masked.",
    tags,
    request: { params: IdParameter, query: AttemptQuery },
    responses: responses(pageOf(JobLog), "Logs of up to 20 attempts. Empty if the tenant has no such job"),
  });
  serve(api, route, async (c) => {
    const { tenant_id, cursor } = c.req.valid("query");
    const rows = await api.services.as(c, (session) =>
      session.rows("jobforge_list_logs", {
        ...jobOf({ ...c.req.valid("param"), tenant_id }, session),
        p_after: cursor,
      }),
    );
    return respondPage(rows, bounds.logs.max);
  });
}

function result(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/jobs/{id}/result",
    operationId: "getResult",
    summary: "Show the result of a job",
    tags,
    request: ofJob,
    responses: responses(JobResult, "The job's status, and its result or error once it is finished", missing),
  });
  serveValue(api, route, "jobforge_get_result", "job", (c, session) => ({
    ...jobOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
    p_masked: isFromSession(c.req.raw.headers),
  }));
}

function explain(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/jobs/{id}/explain",
    operationId: "explainJob",
    summary: "Explain why a job is not running now, or how it finished",
    tags,
    request: ofJob,
    responses: responses(pageOf(Reason), "The reasons, most important first", missing),
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
