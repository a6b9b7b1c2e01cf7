/** /v1/stats: how much there is, and how it went lately. */
import { createRoute, z } from "@hono/zod-openapi";
import { type Api, answers, required, respond, serve, tenantParameter } from "./api.ts";
import { Stats, Time } from "./schemas.ts";

const query = z.strictObject({
  ...tenantParameter,
  since: Time.optional().openapi({ description: "From when on ended jobs count. Default: an hour ago" }),
});

export function statsRoutes(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/stats",
    operationId: "getStats",
    summary: "Count jobs by type and status",
    description: "An operator or reader who names no tenant counts those of all tenants.",
    tags: ["Stats"],
    request: { query },
    responses: answers(Stats, "The counts"),
  });
  serve(api, route, async (c) => {
    const { tenant_id, since } = c.req.valid("query");
    const text = await api.services.as(c, (session) =>
      session.value("jobforge_stats", { p_tenant_id: session.tenant(tenant_id), p_since: since }),
    );
    return respond(required(text, "count"));
  });
}
