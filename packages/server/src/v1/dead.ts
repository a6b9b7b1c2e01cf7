/**
 * /v1/dead: failed and dead jobs, grouped by error. To run a group again or to delete it, pass its name as a filter to
 * /v1/bulk.
 */
import { createRoute } from "@hono/zod-openapi";
import { type Api, respondPage, responses, serve } from "./api.ts";
import { pageOf } from "./schemas/basic.ts";
import { DeadGroup, DeadQuery } from "./schemas/dead.ts";
import { operatorSeesAll } from "./schemas/parameters.ts";

export function deadRoutes(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/dead",
    operationId: "listDeadGroups",
    summary: "List failed and dead jobs, grouped by type and error",
    description: `Errors that differ only in ids, numbers and quoted texts belong to one group. Covers at most the newest
100,000 jobs. ${operatorSeesAll}`,
    tags: ["Dead"],
    request: { query: DeadQuery },
    responses: responses(pageOf(DeadGroup), "The largest groups. There is no next page"),
  });
  serve(api, route, async (c) => {
    const { tenant_id, ...filters } = c.req.valid("query");
    const rows = await api.services.as(c, (session) =>
      session.rows("jobforge_list_dead_groups", {
        p_tenant_id: session.tenant(tenant_id),
        p_filters: filters,
      }),
    );
    return respondPage(rows);
  });
}
