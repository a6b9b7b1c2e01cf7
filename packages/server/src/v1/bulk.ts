/** /v1/bulk: many jobs in one request. */
import { createRoute, z } from "@hono/zod-openapi";
import { type Api, answers, body, respond, serve, tenantParameter } from "./api.ts";
import { BulkAnswer, Enqueued, JobFilters, NewJob } from "./schemas.ts";

const tags = ["Bulk"];
const query = z.strictObject(tenantParameter);

export function bulkRoutes(api: Api): void {
  enqueue(api);
  change(api, "cancel", "Cancel the jobs that a filter means");
  change(api, "reschedule", "Run the queued, failed or dead jobs that a filter means now");
}

const NewJobs = z.strictObject({ jobs: z.array(NewJob).max(50_000) }).openapi("NewJobs");

function enqueue(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/bulk/enqueue",
    operationId: "enqueueJobs",
    summary: "Enqueue many jobs, all or none",
    tags,
    request: { query, body: body(NewJobs) },
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

const BulkChange = z
  .strictObject({ filters: JobFilters, limit: z.int().min(1).max(10_000).default(1000) })
  .openapi("BulkChange");

function change(api: Api, verb: "cancel" | "reschedule", summary: string): void {
  const route = createRoute({
    method: "post",
    path: `/v1/bulk/${verb}`,
    operationId: `${verb}Jobs`,
    summary,
    description: "At least one filter. Call again while `matched` reaches the limit.",
    tags,
    request: { query, body: body(BulkChange) },
    responses: answers(BulkAnswer, "How many jobs were meant, and how many changed"),
  });
  serve(api, route, async (c) => {
    const { tenant_id } = c.req.valid("query");
    const { filters, limit } = c.req.valid("json");
    const text = await api.services.as(c, (session) =>
      session.value(`jobforge_${verb}_jobs`, {
        p_tenant_id: session.tenant(tenant_id),
        p_filters: filters,
        p_limit: limit,
      }),
    );
    return respond(text ?? "{}");
  });
}
