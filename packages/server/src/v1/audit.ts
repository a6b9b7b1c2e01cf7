/** /v1/audit: who did what. */
import { createRoute, z } from "@hono/zod-openapi";
import { type Api, answers, limitParameter, pageOf, servePage, tenantParameter } from "./api.ts";
import { Time } from "./schemas/basic.ts";
import { AuditEntry } from "./schemas/operate.ts";

const query = z.strictObject({
  ...tenantParameter,
  ...limitParameter,
  action: z.string().optional(),
  entity_type: z.string().optional(),
  entity_id: z.string().optional(),
  actor: z.string().optional(),
  after: Time.optional(),
  before: Time.optional(),
  cursor: z
    .string()
    .regex(/^[0-9]{1,18}$/)
    .optional()
    .openapi({ description: "The `cursor` of the page before" }),
});

export function auditRoutes(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/audit",
    operationId: "listAudit",
    summary: "List the audit log, newest first",
    description: "An operator who names no tenant sees everybody's.",
    tags: ["Audit"],
    request: { query },
    responses: answers(pageOf(AuditEntry), "A page of the log"),
  });
  servePage(api, route, "jobforge_list_audit", (c, session) => {
    const { tenant_id, cursor, ...filters } = c.req.valid("query");
    return {
      p_tenant_id: session.tenant(tenant_id),
      p_filters: { ...filters, ...(cursor === undefined ? {} : { cursor: Number(cursor) }) },
    };
  });
}
