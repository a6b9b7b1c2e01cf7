/** /v1/stats: counts of jobs by type and status. */
import { createRoute } from "@hono/zod-openapi";
import { type Api, responses, serveValue } from "./api.ts";
import { operatorAndReaderSeeAll } from "./schemas/parameters.ts";
import { Stats, StatsQuery } from "./schemas/stats.ts";

export function statsRoutes(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/stats",
    operationId: "getStats",
    summary: "Count jobs by type and status",
    description: operatorAndReaderSeeAll,
    tags: ["Numbers"],
    request: { query: StatsQuery },
    responses: responses(Stats, "The counts"),
  });
  serveValue(api, route, "jobforge_stats", "count", (c, session) => {
    const { tenant_id, since } = c.req.valid("query");
    return { p_tenant_id: session.tenant(tenant_id), p_since: since };
  });
}
