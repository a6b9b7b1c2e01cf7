/** /v1/audit: who did what. */
import { createRoute } from "@hono/zod-openapi";
import { type Api, responses, servePage } from "./api.ts";
import { AuditEntry, AuditQuery } from "./schemas/audit.ts";
import { pageOf } from "./schemas/basic.ts";
import { operatorSeesAll } from "./schemas/parameters.ts";

export function auditRoutes(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/audit",
    operationId: "listAudit",
    summary: "List the audit log, newest first",
    description: operatorSeesAll,
    tags: ["Audit"],
    request: { query: AuditQuery },
    responses: responses(pageOf(AuditEntry), "A page of the log"),
  });
  servePage(api, route, "jobforge_list_audit", (c, session) => {
    const { tenant_id, cursor, ...filters } = c.req.valid("query");
    return {
      p_tenant_id: session.tenant(tenant_id),
      p_filters: { ...filters, ...(cursor === undefined ? {} : { cursor: Number(cursor) }) },
    };
  });
}
