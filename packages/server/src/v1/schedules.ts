/** /v1/schedules: recurring work. */
import { createRoute, type RouteConfig, z } from "@hono/zod-openapi";
import type { ApiSession, Arguments } from "../calls.ts";
import {
  type Api,
  answers,
  body,
  limitParameter,
  pageOf,
  problem,
  servePage,
  serveRow,
  serveValue,
  several,
  tenantParameter,
  tenantQuery,
} from "./api.ts";
import { Id, Status, Type } from "./schemas/basic.ts";
import { Job } from "./schemas/jobs.ts";
import { EnsuredSchedule, Schedule, ScheduleOptions } from "./schemas/schedules.ts";

const tags = ["Schedules"];
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
const ofSchedule = { params, query: tenantQuery };

interface Asked {
  readonly type: string;
  readonly key: string;
  readonly tenant_id?: string | undefined;
}

/** Which schedule a request means. */
function scheduleOf({ type, key, tenant_id }: Asked, session: ApiSession): Arguments {
  return { p_tenant_id: session.tenant(tenant_id), p_type: type, p_key: key };
}

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
  servePage(api, route, "jobforge_list_schedules", (c, session) => {
    const { tenant_id, enabled, failing, ...filters } = c.req.valid("query");
    const truths = Object.entries({ enabled, failing }).filter(([, value]) => value !== undefined);
    const given = Object.fromEntries(truths.map(([name, value]) => [name, value === "true"]));
    return { p_tenant_id: session.tenant(tenant_id), p_filters: { ...filters, ...given } };
  });
}

function get(api: Api): void {
  const route = createRoute({
    method: "get",
    path,
    operationId: "getSchedule",
    summary: "Show a schedule",
    tags,
    request: ofSchedule,
    responses: answers(Schedule, "The schedule", missing),
  });
  serveRow(api, route, "jobforge_get_schedule", "schedule", (c, session) =>
    scheduleOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
  );
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
    request: { ...ofSchedule, body: body(ScheduleOptions) },
    responses: answers(EnsuredSchedule, "The schedule, and whether it was created, existed or was updated"),
  });
  serveValue(api, route, "jobforge_ensure_schedule", "schedule", (c, session) => ({
    ...scheduleOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
    p_options: c.req.valid("json"),
  }));
}

function patch(api: Api): void {
  const route = createRoute({
    method: "patch",
    path,
    operationId: "updateSchedule",
    summary: "Change a schedule",
    description: "What is not named stays as it is.",
    tags,
    request: { ...ofSchedule, body: body(ScheduleOptions) },
    responses: answers(Schedule, "The schedule as it is now", missing),
  });
  serveValue(api, route, "jobforge_update_schedule", "schedule", (c, session) => ({
    ...scheduleOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
    p_changes: c.req.valid("json"),
  }));
}

type Declared = Pick<RouteConfig, "method" | "operationId" | "summary"> & { readonly path: string };

/** What needs no more than the schedule's name. */
function change(api: Api, declared: Declared, verb: "delete" | "run" | "enable" | "disable"): void {
  const answer = verb === "delete" ? z.looseObject({ id: Id, deleted: z.boolean() }) : Schedule;
  const route = createRoute({
    ...declared,
    tags,
    request: ofSchedule,
    responses: answers(answer, "Done", missing),
  });
  serveValue(api, route, `jobforge_${verb}_schedule`, "schedule", (c, session) =>
    scheduleOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
  );
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
  servePage(api, route, "jobforge_list_schedule_runs", (c, session) => {
    const { tenant_id, ...filters } = c.req.valid("query");
    return { ...scheduleOf({ ...c.req.valid("param"), tenant_id }, session), p_filters: filters };
  });
}
