/** /v1/stats, /v1/live and /v1/usage: how much there is, how it went lately, and what was used. */
import { createRoute, z } from "@hono/zod-openapi";
import { type Api, answers, pageOf, servePage, serveValue, several, tenantParameter } from "./api.ts";
import { Time, Type } from "./schemas/basic.ts";
import { LiveCount, Stats, Usage } from "./schemas/numbers.ts";

const everybody = "An operator or reader who names no tenant counts those of all tenants.";
const by = several(z.enum(["tenant", "type"])).openapi({
  description: "What has rows of its own. Default: type",
});

export function numberRoutes(api: Api): void {
  stats(api);
  live(api);
  usage(api);
}

function stats(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/stats",
    operationId: "getStats",
    summary: "Count jobs by type and status",
    description: everybody,
    tags: ["Numbers"],
    request: {
      query: z.strictObject({
        ...tenantParameter,
        since: Time.optional().openapi({
          description: "From when on ended jobs count. Default: an hour ago",
        }),
      }),
    },
    responses: answers(Stats, "The counts"),
  });
  serveValue(api, route, "jobforge_stats", "count", (c, session) => {
    const { tenant_id, since } = c.req.valid("query");
    return { p_tenant_id: session.tenant(tenant_id), p_since: since };
  });
}

function live(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/live",
    operationId: "countLive",
    summary: "Count what waits and runs now",
    description: `Cheap, however many jobs there are: beyond some ten thousand the numbers are estimates. ${everybody}`,
    tags: ["Numbers"],
    request: { query: z.strictObject({ ...tenantParameter, by }) },
    responses: answers(pageOf(LiveCount), "The counts"),
  });
  servePage(api, route, "jobforge_count_live", (c, session) => {
    const { tenant_id, by: dimensions } = c.req.valid("query");
    return { p_tenant_id: session.tenant(tenant_id), p_by: dimensions };
  });
}

const usageQuery = z.strictObject({
  ...tenantParameter,
  from: Time.optional().openapi({ description: "Default: a day ago. Goes back to the start of its hour" }),
  to: Time.optional().openapi({ description: "Default: now" }),
  bucket: z
    .enum(["hour", "day", "week", "month", "total"])
    .optional()
    .openapi({ description: "Default: hour" }),
  by,
  type: several(Type),
  timezone: z.string().max(100).optional().openapi({
    description: "Where days and longer begin. Default: UTC",
    example: "Europe/Berlin",
  }),
});

function usage(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/usage",
    operationId: "reportUsage",
    summary: "Add up what ran: how often, how long, how it ended and what it cost",
    description: everybody,
    tags: ["Numbers"],
    request: { query: usageQuery },
    responses: answers(pageOf(Usage), "In the order of time"),
  });
  servePage(api, route, "jobforge_report_usage", (c, session) => {
    const { tenant_id, from, to, bucket, by: dimensions, type, timezone } = c.req.valid("query");
    return {
      p_tenant_id: session.tenant(tenant_id),
      p_from: from,
      p_to: to,
      p_bucket: bucket,
      p_by: dimensions,
      p_types: type,
      p_timezone: timezone,
    };
  });
}
