/** /v1/attention: what is wrong now. */
import { createRoute } from "@hono/zod-openapi";
import { type Api, responses, servePage } from "./api.ts";
import { Attention } from "./schemas/attention.ts";
import { pageOf } from "./schemas/basic.ts";
import { operatorAndReaderSeeAll, TenantQuery } from "./schemas/parameters.ts";

export function attentionRoutes(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/attention",
    operationId: "listAttention",
    summary: "List what needs attention now, the most severe first",
    description: `Such as pauses, types without a worker, failing schedules and silent workers.
${operatorAndReaderSeeAll}`,
    tags: ["Numbers"],
    request: { query: TenantQuery },
    responses: responses(pageOf(Attention), "Up to 200 things. There is no next page"),
  });
  servePage(api, route, "jobforge_list_attention", (c, session) => ({
    p_tenant_id: session.tenant(c.req.valid("query").tenant_id),
  }));
}
