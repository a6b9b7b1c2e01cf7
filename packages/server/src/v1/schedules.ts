/** /v1/schedules: recurring work. */
import { createRoute, type RouteConfig } from "@hono/zod-openapi";
import type { ApiSession, Arguments } from "../calls.ts";
import { withTexts } from "../json-text.ts";
import {
  type Api,
  body,
  problem,
  required,
  respond,
  responses,
  serve,
  servePage,
  serveRow,
  serveValue,
} from "./api.ts";
import { pageOf } from "./schemas/basic.ts";
import { Job } from "./schemas/jobs.ts";
import { operatorSeesAll, TenantQuery } from "./schemas/parameters.ts";
import {
  CronPreview,
  DeletedSchedule,
  EnsuredSchedule,
  NextRuns,
  NextRunsQuery,
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
  next(api);
  preview(api);
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
  serve(api, route, async (c) => {
    const options = withTexts(c.req.valid("json"), await c.req.text(), ["payload", "merge_payload"]);
    const text = await api.services.as(c, (session) =>
      session.value("jobforge_ensure_schedule", {
        ...scheduleOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
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
    description: "Options that the request leaves out keep their values.",
    tags,
    request: { ...ofSchedule, body: body(ScheduleOptions) },
    responses: responses(Schedule, "The schedule after the change", missing),
  });
  serve(api, route, async (c) => {
    const options = withTexts(c.req.valid("json"), await c.req.text(), ["payload", "merge_payload"]);
    const text = await api.services.as(c, (session) =>
      session.value("jobforge_update_schedule", {
        ...scheduleOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
        p_changes: options,
      }),
    );
    return respond(required(text, "schedule"));
  });
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

function next(api: Api): void {
  const route = createRoute({
    method: "get",
    path: `${path}/next`,
    operationId: "listNextRuns",
    summary: "Show when a schedule runs next",
    description:
      "None if it is disabled, and one if it is dynamic. With a jitter, the times after the first are examples.",
    tags,
    request: { params: ScheduleParameters, query: NextRunsQuery },
    responses: responses(NextRuns, "The next times", missing),
  });
  serve(api, route, async (c) => {
    const { tenant_id, count } = c.req.valid("query");
    const { text } = await api.services.as(c, (session) =>
      session.rows("jobforge_next_runs", {
        ...scheduleOf({ ...c.req.valid("param"), tenant_id }, session),
        p_count: count,
      }),
    );
    return respond(`{"items":${text}}`);
  });
}

function preview(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/cron/preview",
    operationId: "previewCron",
    summary: "Show when a cron expression runs next, before a schedule has it",
    tags,
    request: { body: body(CronPreview) },
    responses: responses(NextRuns, "The next times"),
  });
  serve(api, route, async (c) => {
    const { expression, timezone, after, count } = c.req.valid("json");
    const { text } = await api.services.as(c, (session) =>
      session.rows("jobforge_cron_runs", {
        p_expression: expression,
        p_timezone: timezone,
        p_after: after,
        p_count: count,
      }),
    );
    return respond(`{"items":${text}}`);
  });
}
