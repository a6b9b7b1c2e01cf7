/** /v1/schedules: recurring work. */
import { createRoute, type RouteConfig } from "@hono/zod-openapi";
import type { ApiSession, Arguments } from "../calls.ts";
import { type Api, body, problem, responses, servePage, serveRow, serveValue } from "./api.ts";
import { pageOf } from "./schemas/basic.ts";
import { Job } from "./schemas/jobs.ts";
import { operatorSeesAll, TenantQuery } from "./schemas/parameters.ts";
import {
  DeletedSchedule,
  EnsuredSchedule,
  Schedule,
  ScheduleOptions,
  ScheduleParameters,
  ScheduleQuery,
  ScheduleRunsQuery,
} from "./schemas/schedules.ts";

const tags = ["Schedules"];
const missing = { 404: problem("The tenant has no such schedule") };
const path = "/v1/schedules/{type}/{key}";
const ofSchedule = { params: ScheduleParameters, query: TenantQuery };

interface ScheduleName {
  readonly type: string;
  readonly key: string;
  readonly tenant_id?: string | undefined;
}

/** The arguments that name the schedule of a request. */
function scheduleOf({ type, key, tenant_id }: ScheduleName, session: ApiSession): Arguments {
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
    ["run", "Request a run now, in addition to the next one"],
    ["enable", "Enable a schedule. It runs at its next time, or at once if that has passed"],
    ["disable", "Disable a schedule. A current run continues, and the next time is kept"],
  ] as const)
    change(api, { method: "post", path: `${path}/${verb}`, operationId: `${verb}Schedule`, summary }, verb);
  runs(api);
}

function list(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/schedules",
    operationId: "listSchedules",
    summary: "List schedules by type and key, or by their next run",
    description: operatorSeesAll,
    tags,
    request: { query: ScheduleQuery },
    responses: responses(pageOf(Schedule), "A page of schedules"),
  });
  servePage(api, route, "jobforge_list_schedules", (c, session) => {
    const { tenant_id, enabled, failing, due, overdue, running, ...filters } = c.req.valid("query");
    const flags = Object.entries({ enabled, failing, due, overdue, running }).filter(
      ([, value]) => value !== undefined,
    );
    const given = Object.fromEntries(flags.map(([name, value]) => [name, value === "true"]));
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
    responses: responses(Schedule, "The schedule", missing),
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
    summary: "Create a schedule, or update it to match the request",
    description:
      "Requires exactly one of cron, every and dynamic. An existing next run keeps its time unless the rhythm changes.",
    tags,
    request: { ...ofSchedule, body: body(ScheduleOptions) },
    responses: responses(EnsuredSchedule, "The schedule, and whether it was created, existed or was updated"),
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
    description: "Options that the request leaves out keep their values.",
    tags,
    request: { ...ofSchedule, body: body(ScheduleOptions) },
    responses: responses(Schedule, "The schedule after the change", missing),
  });
  serveValue(api, route, "jobforge_update_schedule", "schedule", (c, session) => ({
    ...scheduleOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
    p_changes: c.req.valid("json"),
  }));
}

type Declaration = Pick<RouteConfig, "method" | "operationId" | "summary"> & { readonly path: string };

/** Declares an operation that needs only the name of the schedule. */
function change(api: Api, declaration: Declaration, verb: "delete" | "run" | "enable" | "disable"): void {
  const route = createRoute({
    ...declaration,
    tags,
    request: ofSchedule,
    responses: responses(verb === "delete" ? DeletedSchedule : Schedule, "Done", missing),
  });
  serveValue(api, route, `jobforge_${verb}_schedule`, "schedule", (c, session) =>
    scheduleOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
  );
}

function runs(api: Api): void {
  const route = createRoute({
    method: "get",
    path: `${path}/runs`,
    operationId: "listScheduleRuns",
    summary: "List a schedule's runs, newest first",
    tags,
    request: { params: ScheduleParameters, query: ScheduleRunsQuery },
    responses: responses(pageOf(Job), "A page of runs", missing),
  });
  servePage(api, route, "jobforge_list_schedule_runs", (c, session) => {
    const { tenant_id, ...filters } = c.req.valid("query");
    return { ...scheduleOf({ ...c.req.valid("param"), tenant_id }, session), p_filters: filters };
  });
}
