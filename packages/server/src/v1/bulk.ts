/** /v1/bulk: enqueue, count and change many jobs in one request. */
import { randomUUID } from "node:crypto";
import { createRoute } from "@hono/zod-openapi";
import type { BulkChange as Change } from "@jobforge/sdk-ts";
import { elementsOf, JsonText, mayRound, memberOf, withTexts } from "../json-text.ts";
import { type Api, body, respond, responses, serve, servePage, serveValue } from "./api.ts";
import { pageOf } from "./schemas/basic.ts";
import { BulkChange, BulkCount, BulkResult, EnqueuedJobs, JobCount, NewJobs } from "./schemas/bulk.ts";
import { operatorSeesAll, TenantQuery } from "./schemas/parameters.ts";

const tags = ["Bulk"];

export function bulkRoutes(api: Api): void {
  enqueue(api);
  count(api);
  change(api, "cancel", "Cancel the jobs that match a filter");
  change(api, "reschedule", "Run the queued, failed or dead jobs that match a filter now");
  change(api, "purge", "Delete the finished jobs that match a filter before their retention ends");
}

function enqueue(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/bulk/enqueue",
    operationId: "enqueueJobs",
    summary: "Enqueue many jobs, all or none",
    tags,
    request: { query: TenantQuery, body: body(NewJobs) },
    responses: responses(EnqueuedJobs, "The jobs in the order of the request"),
  });
  serve(api, route, async (c) => {
    const { tenant_id } = c.req.valid("query");
    const traceparent = c.get("traceparent");
    const jobs = c.req.valid("json").jobs.map((job) => ({ ...job, traceparent }));
    const written = await c.req.text();
    const text = await api.services.as(c, (session) =>
      session.value("jobforge_enqueue_jobs", {
        p_tenant_id: session.tenant(tenant_id),
        p_jobs: mayRound(written) ? exactJobs(jobs, written) : jobs,
      }),
    );
    return respond(`{"items":${text ?? "[]"}}`);
  });
}

/** The jobs with their payloads as they are written in the body. Few requests need this, and it takes time. */
function exactJobs(jobs: readonly object[], written: string): JsonText {
  const texts = elementsOf(memberOf(written, "jobs")?.text ?? "[]");
  return new JsonText(
    `[${jobs.map((job, place) => withTexts(job, texts[place] ?? "{}", ["payload"]).text).join()}]`,
  );
}

/** The filters of a body, with a payload as it is written. Rounded numbers would select other jobs. */
function exactFilters(filters: object | undefined, written: string): JsonText | undefined {
  return filters && withTexts(filters, memberOf(written, "filters")?.text ?? "{}", ["payload"]);
}

function count(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/bulk/count",
    operationId: "countJobs",
    summary: "Count the jobs that match a filter, before changing them",
    description: `Counts at most the newest 100,000 jobs; \`exact\` is false if it stopped there. ${operatorSeesAll}`,
    tags,
    request: { query: TenantQuery, body: body(BulkCount) },
    responses: responses(pageOf(JobCount), "Counts by tenant, type and status, largest first"),
  });
  servePage(api, route, "jobforge_count_jobs", async (c, session) => {
    const { filters, change } = c.req.valid("json");
    const { tenant_id } = c.req.valid("query");
    return {
      p_tenant_id: session.tenant(tenant_id),
      p_filters: exactFilters(filters, await c.req.text()),
      p_change: change,
    };
  });
}

function change(api: Api, verb: Change, summary: string): void {
  const route = createRoute({
    method: "post",
    path: `/v1/bulk/${verb}`,
    operationId: `${verb}Jobs`,
    summary,
    description:
      "Needs at least one filter. Repeat it with the same `operation` and with `cursor` until `cursor` is null: the requests of one operation look at each job once and have one entry in the audit log. Changes jobs of one tenant; with an `operation` and without `tenant_id`, an operator changes jobs of all tenants.",
    tags,
    request: { query: TenantQuery, body: body(BulkChange) },
    responses: responses(BulkResult, "How many jobs matched, and how many were changed"),
  });
  serveValue(api, route, `jobforge_${verb}_jobs`, "tenant", async (c, session) => {
    const { tenant_id } = c.req.valid("query");
    const { filters, limit, operation, cursor } = c.req.valid("json");
    const tenant = session.tenant(tenant_id);
    return {
      p_tenant_id: tenant,
      p_filters: exactFilters(filters, await c.req.text()),
      p_limit: limit,
      // Changing all tenants' jobs must be asked for, so that no client does it by leaving out the tenant.
      p_operation: operation ?? (tenant === null ? undefined : randomUUID()),
      p_cursor: cursor,
    };
  });
}
