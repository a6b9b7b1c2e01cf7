/** /v1/waiting: why jobs do not run, for many of them. */
import { createRoute } from "@hono/zod-openapi";
import { type Api, responses, servePage } from "./api.ts";
import { pageOf } from "./schemas/basic.ts";
import { Waiting } from "./schemas/waiting.ts";

export function waitingRoutes(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/waiting",
    operationId: "listWaiting",
    summary: "Count the jobs that wait, by reason and type",
    description: "Counts are bounded; `exact` is false for estimates.",
    tags: ["Numbers"],
    responses: responses(pageOf(Waiting), "The counts, largest first"),
  });
  servePage(api, route, "jobforge_list_waiting");
}
