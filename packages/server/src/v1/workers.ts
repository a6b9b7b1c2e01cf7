/** /v1/workers: the workers that send heartbeats. */
import { createRoute } from "@hono/zod-openapi";
import { type Api, responses, servePage } from "./api.ts";
import { pageOf } from "./schemas/basic.ts";
import { Worker } from "./schemas/workers.ts";

export function workerRoutes(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/workers",
    operationId: "listWorkers",
    summary: "List the workers, most recently seen first",
    tags: ["Workers"],
    responses: responses(pageOf(Worker), "All workers"),
  });
  servePage(api, route, "jobforge_list_workers");
}
