/** /v1/usage: what ran, how long, with what end and at what cost. */
import { createRoute } from "@hono/zod-openapi";
import { type Api, responses, servePage } from "./api.ts";
import { pageOf } from "./schemas/basic.ts";
import { dimensionsOf, operatorAndReaderSeeAll } from "./schemas/parameters.ts";
import { Usage, UsageQuery } from "./schemas/usage.ts";

export function usageRoutes(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/usage",
    operationId: "reportUsage",
    summary: "Report runs: their number, duration, ends and cost",
    description: operatorAndReaderSeeAll,
    tags: ["Numbers"],
    request: { query: UsageQuery },
    responses: responses(pageOf(Usage), "Rows in order of time"),
  });
  servePage(api, route, "jobforge_report_usage", (c, session) => {
    const { tenant_id, from, to, bucket, by, type, timezone } = c.req.valid("query");
    return {
      p_tenant_id: session.tenant(tenant_id),
      p_from: from,
      p_to: to,
      p_bucket: bucket,
      p_by: dimensionsOf(by),
      p_types: type,
      p_timezone: timezone,
    };
  });
}
