/** /v1/limits and /v1/tenants: how much may run, start and wait. */
import { createRoute, z } from "@hono/zod-openapi";
import { type Api, answers, body, pageOf, servePage, serveValue } from "./api.ts";
import { Id } from "./schemas/basic.ts";
import { Limit, limitName, NewLimit, Tenant, TenantChanges, TenantSettings } from "./schemas/limits.ts";

const path = "/v1/limits";

export function limitRoutes(api: Api): void {
  const tags = ["Limits"];
  const list = createRoute({
    method: "get",
    path,
    operationId: "listLimits",
    summary: "List how much may run and start",
    tags,
    responses: answers(pageOf(Limit), "All of them"),
  });
  servePage(api, list, "jobforge_list_limits");
  const set = createRoute({
    method: "put",
    path,
    operationId: "setLimit",
    summary: "Limit how many jobs run at once, or start in a time",
    description:
      "In place of the limit that was there. Without a number the key has no limit, whatever the default says.",
    tags,
    request: { body: body(NewLimit) },
    responses: answers(Limit, "The limit"),
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
    summary: "Remove a limit: what it held back starts",
    tags,
    request: { query: z.strictObject(limitName) },
    responses: answers(
      z.looseObject({ scope: z.string(), key: z.string(), removed: z.boolean() }),
      "Whether there was one",
    ),
  });
  serveValue(api, remove, "jobforge_remove_limit", "limit", (c) => {
    const { scope, key } = c.req.valid("query");
    return { p_scope: scope, p_key: key };
  });
}

const params = z.object({ tenant_id: Id });

export function tenantRoutes(api: Api): void {
  const tags = ["Tenants"];
  const show = createRoute({
    method: "get",
    path: "/v1/tenants/{tenant_id}",
    operationId: "getTenant",
    summary: "Show a tenant's quota, how much of it is used, and its weight",
    tags,
    request: { params },
    responses: answers(Tenant, "What is set, or the defaults"),
  });
  serveValue(api, show, "jobforge_get_tenant", "tenant", (c) => ({
    p_tenant_id: c.req.valid("param").tenant_id,
  }));
  const set = createRoute({
    method: "patch",
    path: "/v1/tenants/{tenant_id}",
    operationId: "setTenant",
    summary: "Set a tenant's quota and weight",
    description: "What is not named stays as it is.",
    tags,
    request: { params, body: body(TenantChanges) },
    responses: answers(TenantSettings, "What is set now"),
  });
  serveValue(api, set, "jobforge_set_tenant", "tenant", (c) => ({
    p_tenant_id: c.req.valid("param").tenant_id,
    p_settings: c.req.valid("json"),
  }));
}
