/** /v1/schedules: recurring work. */
import { createRoute, type RouteConfig, z } from "@hono/zod-openapi";
import {
  type Api,
  answers,
  body,
  limitParameter,
  notFound,
  pageOf,
  problem,
  required,
  respond,
  respondPage,
  serve,
  several,
  tenantParameter,
} from "./api.ts";
import { EnsuredSchedule, Id, Job, Schedule, ScheduleOptions, Status, Type } from "./schemas.ts";

const tags = ["Schedules"];
const tenantQuery = z.strictObject(tenantParameter);
const params = z.object({
  type: Type,
  key: z
    .string()
    .min(1)
    .max(1024)
    .openapi({ description: "What tells it from others of the type", example: "feed-1" }),
});
const missing = { 404: problem("The tenant has no such schedule") };
const path = "/v1/schedules/{type}/{key}";

export function scheduleRoutes(api: Api): void {
  list(api);
  get(api);
  put(api);
  patch(api);
  change(
    api,
    { method: "delete", path, operationId: "deleteSchedule", summary: "Delete a schedule" },
    "delete",
  );
  for (const [verb, summary] of [
    ["run", "Ask for a run now, beside the next one"],
    ["enable", "Enable a schedule: it runs at its old time, or at once when that has passed"],
    ["disable", "Disable a schedule: what runs goes on, the next time is kept"],
  ] as const)
    change(api, { method: "post", path: `${path}/${verb}`, operationId: `${verb}Schedule`, summary }, verb);
  runs(api);
}

const listQuery = z.strictObject({
  ...tenantParameter,
  ...limitParameter,
  type: several(Type),
  enabled: z.enum(["true", "false"]).optional(),
  failing: z.enum(["true", "false"]).optional(),
  cursor: Id.optional(),
});

function list(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/schedules",
    operationId: "listSchedules",
    summary: "List schedules by type and key",
    description: "An operator who names no tenant sees those of all tenants.",
    tags,
    request: { query: listQuery },
    responses: answers(pageOf(Schedule), "A page of schedules"),
  });
  serve(api, route, async (c) => {
    const { tenant_id, enabled, failing, ...filters } = c.req.valid("query");
    const truths = Object.entries({ enabled, failing }).filter(([, value]) => value !== undefined);
    const given = {
      ...filters,
      ...Object.fromEntries(truths.map(([name, value]) => [name, value === "true"])),
    };
    const rows = await api.services.as(c, (session) =>
      session.rows("jobforge_list_schedules", { p_tenant_id: session.tenant(tenant_id), p_filters: given }),
    );
    return respondPage(rows, filters.limit);
  });
}

function get(api: Api): void {
  const route = createRoute({
    method: "get",
    path,
    operationId: "getSchedule",
    summary: "Show a schedule",
    tags,
    request: { params, query: tenantQuery },
    responses: answers(Schedule, "The schedule", missing),
  });
  serve(api, route, async (c) => {
    const { type, key } = c.req.valid("param");
    const { tenant_id } = c.req.valid("query");
    const { text, count } = await api.services.as(c, (session) =>
      session.rows("jobforge_get_schedule", {
        p_tenant_id: session.tenant(tenant_id),
        p_type: type,
        p_key: key,
      }),
    );
    if (count === 0) throw notFound("schedule");
    return respond(text.trim().slice(1, -1));
  });
}

function put(api: Api): void {
  const route = createRoute({
    method: "put",
    path,
    operationId: "ensureSchedule",
    summary: "Make sure that a schedule is there and is as declared",
    description:
      "One of cron, every and dynamic. An existing next run stays unless the rhythm is another one.",
    tags,
    request: { params, query: tenantQuery, body: body(ScheduleOptions) },
    responses: answers(EnsuredSchedule, "The schedule, and whether it was created, existed or was updated"),
  });
  serve(api, route, async (c) => {
    const { type, key } = c.req.valid("param");
    const { tenant_id } = c.req.valid("query");
    const options = c.req.valid("json");
    const text = await api.services.as(c, (session) =>
      session.value("jobforge_ensure_schedule", {
        p_tenant_id: session.tenant(tenant_id),
        p_type: type,
        p_key: key,
        p_options: options,
      }),
    );
    return respond(required(text, "schedule"));
  });
}

function patch(api: Api): void {
  const route = createRoute({
    method: "patch",
    path,
    operationId: "updateSchedule",
    summary: "Change a schedule",
    description: "What is not named stays as it is.",
    tags,
    request: { params, query: tenantQuery, body: body(ScheduleOptions) },
    responses: answers(Schedule, "The schedule as it is now", missing),
  });
  serve(api, route, async (c) => {
    const { type, key } = c.req.valid("param");
    const { tenant_id } = c.req.valid("query");
    const changes = c.req.valid("json");
    const text = await api.services.as(c, (session) =>
      session.value("jobforge_update_schedule", {
        p_tenant_id: session.tenant(tenant_id),
        p_type: type,
        p_key: key,
        p_changes: changes,
      }),
    );
    return respond(required(text, "schedule"));
  });
}

type Declared = Pick<RouteConfig, "method" | "operationId" | "summary"> & { readonly path: string };

/** What needs no more than the schedule's name. */
function change(api: Api, declared: Declared, verb: "delete" | "run" | "enable" | "disable"): void {
  const answer = verb === "delete" ? z.looseObject({ id: Id, deleted: z.boolean() }) : Schedule;
  const route = createRoute({
    ...declared,
    tags,
    request: { params, query: tenantQuery },
    responses: answers(answer, "Done", missing),
  });
  serve(api, route, async (c) => {
    const { type, key } = c.req.valid("param");
    const { tenant_id } = c.req.valid("query");
    const text = await api.services.as(c, (session) =>
      session.value(`jobforge_${verb}_schedule`, {
        p_tenant_id: session.tenant(tenant_id),
        p_type: type,
        p_key: key,
      }),
    );
    return respond(required(text, "schedule"));
  });
}

const runsQuery = z.strictObject({
  ...tenantParameter,
  ...limitParameter,
  status: several(Status),
  cursor: Id.optional(),
});

function runs(api: Api): void {
  const route = createRoute({
    method: "get",
    path: `${path}/runs`,
    operationId: "listScheduleRuns",
    summary: "List a schedule's runs, newest first",
    tags,
    request: { params, query: runsQuery },
    responses: answers(pageOf(Job), "A page of its runs", missing),
  });
  serve(api, route, async (c) => {
    const { type, key } = c.req.valid("param");
    const { tenant_id, ...filters } = c.req.valid("query");
    const rows = await api.services.as(c, (session) =>
      session.rows("jobforge_list_schedule_runs", {
        p_tenant_id: session.tenant(tenant_id),
        p_type: type,
        p_key: key,
        p_filters: filters,
      }),
    );
    return respondPage(rows, filters.limit);
  });
}
