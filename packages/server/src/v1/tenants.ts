/** /v1/tenants: how many jobs and schedules a tenant may have, and how many turns it gets. */
import { createRoute } from "@hono/zod-openapi";
import { type Api, body, responses, servePage, serveValue } from "./api.ts";
import { pageOf } from "./schemas/basic.ts";
import {
  ListedTenant,
  Tenant,
  TenantChanges,
  TenantIdParameter,
  TenantListQuery,
  TenantSettings,
} from "./schemas/tenants.ts";

const path = "/v1/tenants/{tenant_id}";
const tags = ["Tenants"];

export function tenantRoutes(api: Api): void {
  const list = createRoute({
    method: "get",
    path: "/v1/tenants",
    operationId: "listTenants",
    summary: "List the tenants that have settings or have enqueued jobs, by their ids",
    tags,
    request: { query: TenantListQuery },
    responses: responses(pageOf(ListedTenant), "A page of tenants"),
  });
  servePage(api, list, "jobforge_list_tenants", (c) => {
    const { limit, cursor, search, figures } = c.req.valid("query");
    return { p_limit: limit, p_after: cursor, p_search: search, p_figures: figures === "true" };
  });
  const show = createRoute({
    method: "get",
    path,
    operationId: "getTenant",
    summary: "Show a tenant's quotas, how much of them is used, and its weight",
    tags,
    request: { params: TenantIdParameter },
    responses: responses(Tenant, "The tenant's settings, or the defaults"),
  });
  serveValue(api, show, "jobforge_get_tenant", "tenant", (c) => ({
    p_tenant_id: c.req.valid("param").tenant_id,
  }));
  const set = createRoute({
    method: "patch",
    path,
    operationId: "setTenant",
    summary: "Set a tenant's quotas and weight",
    description: "Keys that the request leaves out keep their values.",
    tags,
    request: { params: TenantIdParameter, body: body(TenantChanges) },
    responses: responses(TenantSettings, "The settings after the change"),
  });
  serveValue(api, set, "jobforge_set_tenant", "tenant", (c) => ({
    p_tenant_id: c.req.valid("param").tenant_id,
    p_settings: c.req.valid("json"),
  }));
}
