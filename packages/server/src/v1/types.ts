/** /v1/types: the types of jobs, and how their jobs are doing. */
import { createRoute } from "@hono/zod-openapi";
import { type Api, responses, servePage } from "./api.ts";
import { pageOf } from "./schemas/basic.ts";
import { operatorAndReaderSeeAll } from "./schemas/parameters.ts";
import { TypeInfo, TypeQuery } from "./schemas/types.ts";

export function typeRoutes(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/types",
    operationId: "listTypes",
    summary: "List types with their waiting, running and recently finished jobs",
    tags: ["Types"],
    request: { query: TypeQuery },
    description: operatorAndReaderSeeAll,
    responses: responses(pageOf(TypeInfo), "All types, or those that the tenant uses"),
  });
  servePage(api, route, "jobforge_list_types", (c, session) => {
    const { span, tenant_id } = c.req.valid("query");
    return { p_span: span, p_tenant_id: session.tenant(tenant_id) };
  });
}
