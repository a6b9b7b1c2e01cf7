/** /v1/bulk: many jobs in one request. */
import { createRoute, z } from "@hono/zod-openapi";
import {
  type Api,
  answers,
  body,
  pageOf,
  respond,
  serve,
  servePage,
  serveValue,
  tenantQuery,
} from "./api.ts";
import { BulkAnswer, Enqueued, JobCount, JobFilters, NewJob } from "./schemas/jobs.ts";

const tags = ["Bulk"];

export function bulkRoutes(api: Api): void {
  enqueue(api);
  count(api);
  change(api, "cancel", "Cancel the jobs that a filter means");
  change(api, "reschedule", "Run the queued, failed or dead jobs that a filter means now");
  change(api, "purge", "Forget the ended jobs that a filter means, before their time");
}

const NewJobs = z.strictObject({ jobs: z.array(NewJob).max(50_000) }).openapi("NewJobs");

function enqueue(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/bulk/enqueue",
    operationId: "enqueueJobs",
    summary: "Enqueue many jobs, all or none",
    tags,
    request: { query: tenantQuery, body: body(NewJobs) },
    responses: answers(z.looseObject({ items: z.array(Enqueued) }), "The jobs in the order of the request"),
  });
  serve(api, route, async (c) => {
    const { tenant_id } = c.req.valid("query");
    const traceparent = c.get("traceparent");
    const jobs = c.req.valid("json").jobs.map((job) => ({ ...job, traceparent }));
    const text = await api.services.as(c, (session) =>
      session.value("jobforge_enqueue_jobs", { p_tenant_id: session.tenant(tenant_id), p_jobs: jobs }),
    );
    return respond(`{"items":${text ?? "[]"}}`);
  });
}

const changes = ["cancel", "reschedule", "purge"] as const;

const BulkCount = z
  .strictObject({
    filters: JobFilters.optional(),
    change: z.enum(changes).optional().openapi({ description: "Only jobs that this change would touch" }),
  })
  .openapi("BulkCount");

function count(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/bulk/count",
    operationId: "countJobs",
    summary: "Count the jobs that a filter means, before they are changed",
    description: "The newest 100,000 at most. An operator who names no tenant counts those of all tenants.",
    tags,
    request: { query: tenantQuery, body: body(BulkCount) },
    responses: answers(pageOf(JobCount), "By tenant, type and status, the most first"),
  });
  servePage(api, route, "jobforge_count_jobs", (c, session) => {
    const { filters, change } = c.req.valid("json");
    const { tenant_id } = c.req.valid("query");
    return { p_tenant_id: session.tenant(tenant_id), p_filters: filters, p_change: change };
  });
}

const BulkChange = z
  .strictObject({ filters: JobFilters, limit: z.int().min(1).max(10_000).default(1000) })
  .openapi("BulkChange");

function change(api: Api, verb: (typeof changes)[number], summary: string): void {
  const route = createRoute({
    method: "post",
    path: `/v1/bulk/${verb}`,
    operationId: `${verb}Jobs`,
    summary,
    description: "Of one tenant, by at least one filter. Call again while `matched` reaches the limit.",
    tags,
    request: { query: tenantQuery, body: body(BulkChange) },
    responses: answers(BulkAnswer, "How many jobs were meant, and how many changed"),
  });
  serveValue(api, route, `jobforge_${verb}_jobs`, "tenant", (c, session) => {
    const { tenant_id } = c.req.valid("query");
    const { filters, limit } = c.req.valid("json");
    return { p_tenant_id: session.tenant(tenant_id), p_filters: filters, p_limit: limit };
  });
}
