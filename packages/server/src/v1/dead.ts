/** /v1/dead: what went wrong, by kind of error. A group is run again or forgotten by /v1/bulk, with its name as a filter. */
import { createRoute, z } from "@hono/zod-openapi";
import {
  type Api,
  answers,
  limitParameter,
  pageOf,
  respondPage,
  serve,
  several,
  tenantParameter,
} from "./api.ts";
import { Type } from "./schemas/basic.ts";
import { DeadGroup, searchFields } from "./schemas/jobs.ts";

const query = z.strictObject({
  ...tenantParameter,
  ...limitParameter,
  status: several(z.enum(["failed", "dead"])),
  type: several(Type),
  tags: several(z.string()),
  ...searchFields,
});

export function deadRoutes(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/dead",
    operationId: "listDeadGroups",
    summary: "List failed and dead jobs, grouped by type and kind of error",
    description:
      "Errors are of one kind when they differ in ids, numbers and quoted texts only. The newest 100,000 jobs at most. An operator who names no tenant sees those of all tenants.",
    tags: ["Dead"],
    request: { query },
    responses: answers(pageOf(DeadGroup), "The largest groups; there is no next page"),
  });
  serve(api, route, async (c) => {
    const { tenant_id, ...filters } = c.req.valid("query");
    const rows = await api.services.as(c, (session) =>
      session.rows("jobforge_list_dead_groups", {
        p_tenant_id: session.tenant(tenant_id),
        p_filters: filters,
      }),
    );
    return respondPage(rows);
  });
}
