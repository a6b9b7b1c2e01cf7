/** /v1/live: counts of the jobs that wait and run now. */
import { createRoute } from "@hono/zod-openapi";
import { type Api, responses, servePage } from "./api.ts";
import { pageOf } from "./schemas/basic.ts";
import { LiveCount, LiveQuery } from "./schemas/live.ts";
import { dimensionsOf, operatorAndReaderSeeAll } from "./schemas/parameters.ts";

export function liveRoutes(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/live",
    operationId: "countLive",
    summary: "Count the jobs that wait and run now",
    description: `Cheap for any number of jobs: above about ten thousand the counts are estimates.
${operatorAndReaderSeeAll}`,
    tags: ["Numbers"],
    request: { query: LiveQuery },
    responses: responses(pageOf(LiveCount), "The counts"),
  });
  servePage(api, route, "jobforge_count_live", (c, session) => {
    const { tenant_id, by } = c.req.valid("query");
    return { p_tenant_id: session.tenant(tenant_id), p_by: dimensionsOf(by) };
  });
}
