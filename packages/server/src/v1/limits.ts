/** /v1/limits: how many jobs may run at once and start in a time. */
import { createRoute } from "@hono/zod-openapi";
import { type Api, body, responses, servePage, serveValue } from "./api.ts";
import { pageOf } from "./schemas/basic.ts";
import { ChangedLimit, LimitQuery, ListedLimit, NewLimit, RemovedLimit } from "./schemas/limits.ts";

const path = "/v1/limits";
const tags = ["Limits"];

export function limitRoutes(api: Api): void {
  const list = createRoute({
    method: "get",
    path,
    operationId: "listLimits",
    summary: "List the limits",
    tags,
    responses: responses(pageOf(ListedLimit), "All limits, with their use now"),
  });
  servePage(api, list, "jobforge_list_limits");
  const set = createRoute({
    method: "put",
    path,
    operationId: "setLimit",
    summary: "Limit how many jobs run at once, or start in a time",
    description:
      "Replaces an existing limit. Without numbers, the key has no limit in this scope, not even the default one.",
    tags,
    request: { body: body(NewLimit) },
    responses: responses(ChangedLimit, "The limit"),
  });
  serveValue(api, set, "jobforge_set_limit", "limit", (c) => {
    const { scope, key, max_running, rate, per, burst } = c.req.valid("json");
    return {
      p_scope: scope,
      p_key: key,
      p_max_running: max_running,
      p_rate: rate,
      p_per: per,
      p_burst: burst,
    };
  });
  const remove = createRoute({
    method: "delete",
    path,
    operationId: "removeLimit",
    summary: "Remove a limit. The jobs that it held back may start",
    tags,
    request: { query: LimitQuery },
    responses: responses(RemovedLimit, "Whether the limit existed"),
  });
  serveValue(api, remove, "jobforge_remove_limit", "limit", (c) => {
    const { scope, key } = c.req.valid("query");
    return { p_scope: scope, p_key: key };
  });
}
