/** /v1/series: depth and ends of jobs over time, for charts. */
import { createRoute } from "@hono/zod-openapi";
import { type Api, responses, servePage } from "./api.ts";
import { pageOf } from "./schemas/basic.ts";
import { SeriesQuery, SeriesStep } from "./schemas/series.ts";

export function seriesRoutes(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/series",
    operationId: "getSeries",
    summary: "Show waiting, running and ended jobs over time",
    description: "From samples of each minute, kept for seven days. Steps without samples are left out.",
    tags: ["Numbers"],
    request: { query: SeriesQuery },
    responses: responses(pageOf(SeriesStep), "Up to 1,500 steps for each type, in order of time"),
  });
  servePage(api, route, "jobforge_series", (c) => {
    const { from, to, step, type } = c.req.valid("query");
    return { p_from: from, p_to: to, p_step: step, p_types: type };
  });
}
