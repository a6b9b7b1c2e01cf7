/** /v1/workers: the workers that send heartbeats. */
import { createRoute } from "@hono/zod-openapi";
import { type Api, problem, responses, servePage, serveValue } from "./api.ts";
import { pageOf } from "./schemas/basic.ts";
import { StopRequest, Worker, WorkerDetails, WorkerParameter } from "./schemas/workers.ts";

const tags = ["Workers"];
const missing = { 404: problem("There is no such worker") };

export function workerRoutes(api: Api): void {
  const list = createRoute({
    method: "get",
    path: "/v1/workers",
    operationId: "listWorkers",
    summary: "List the workers, most recently seen first",
    tags,
    responses: responses(pageOf(Worker), "All workers"),
  });
  servePage(api, list, "jobforge_list_workers");
  const get = createRoute({
    method: "get",
    path: "/v1/workers/{worker_id}",
    operationId: "getWorker",
    summary: "Show a worker, with the jobs that it holds",
    tags,
    request: { params: WorkerParameter },
    responses: responses(WorkerDetails, "The worker", missing),
  });
  serveValue(api, get, "jobforge_get_worker", "worker", (c) => ({
    p_worker_id: c.req.valid("param").worker_id,
  }));
  const stop = createRoute({
    method: "post",
    path: "/v1/workers/{worker_id}/stop",
    operationId: "stopWorker",
    summary: "Ask a worker to finish its jobs and stop",
    description:
      "Its next heartbeat, within ten seconds, says so. The worker then claims nothing more, finishes its jobs and stops, as after SIGTERM. A process that starts again with the same id works.",
    tags,
    request: { params: WorkerParameter },
    responses: responses(StopRequest, "The request", missing),
  });
  serveValue(api, stop, "jobforge_stop_worker", "worker", (c) => ({
    p_worker_id: c.req.valid("param").worker_id,
  }));
}
