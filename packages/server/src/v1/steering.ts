/** /v1/jobs/{id}: change, cancel, run again and copy one job. */
import { createRoute } from "@hono/zod-openapi";
import type { ApiSession, Arguments } from "../calls.ts";
import { memberOf, withTexts } from "../json-text.ts";
import { isFromSession } from "../session.ts";
import { type Api, body, json, problem, required, respond, responses, serve, serveValue } from "./api.ts";
import { unmaskedBody } from "./masks.ts";
import {
  CanceledJob,
  Job,
  JobChanges,
  JobCopy,
  Reschedule,
  RescheduledJob,
  RevealedJob,
} from "./schemas/jobs.ts";
import { IdParameter, TenantQuery } from "./schemas/parameters.ts";

const tags = ["Jobs"];
const refused = { 409: problem("There is no such job, or its status does not allow the change") };

export const ofJob = { params: IdParameter, query: TenantQuery };

interface JobParameters {
  readonly id: string;
  readonly tenant_id?: string | undefined;
}

/** The arguments that name the job of a request. */
export function jobOf({ id, tenant_id }: JobParameters, session: ApiSession): Arguments {
  return { p_job_id: id, p_tenant_id: session.tenant(tenant_id) };
}

export function steeringRoutes(api: Api): void {
  update(api);
  cancel(api);
  reschedule(api);
  copy(api);
  reveal(api);
}

/** A job as sessions see it. */
async function maskedJob(session: ApiSession, job: Arguments): Promise<string> {
  const { text } = await session.rows("jobforge_get_job", { ...job, p_masked: true });
  return text.trim().slice(1, -1);
}

function update(api: Api): void {
  const route = createRoute({
    method: "patch",
    path: "/v1/jobs/{id}",
    operationId: "updateJob",
    summary: "Change a queued job",
    tags,
    request: { ...ofJob, body: body(JobChanges) },
    responses: responses(Job, "The job after the change", refused),
  });
  serve(api, route, async (c) => {
    const changes = withTexts(c.req.valid("json"), await unmaskedBody(c), ["payload"]);
    const text = await api.services.as(c, async (session) => {
      const job = jobOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session);
      const changed = await session.value("jobforge_update_job", { ...job, p_changes: changes });
      return isFromSession(c.req.raw.headers) ? await maskedJob(session, job) : changed;
    });
    return respond(required(text, "job"));
  });
}

function cancel(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/jobs/{id}/cancel",
    operationId: "cancelJob",
    summary: "Cancel a job",
    description:
      "A queued job is canceled at once. A running job is canceled when its run ends; its handler is notified.",
    tags,
    request: ofJob,
    responses: responses(CanceledJob, "The job is canceled, or will be when its run ends", refused),
  });
  serveValue(api, route, "jobforge_cancel_job", "job", (c, session) =>
    jobOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
  );
}

function reschedule(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/jobs/{id}/reschedule",
    operationId: "rescheduleJob",
    summary: "Run a queued, failed or dead job at another time",
    tags,
    request: { ...ofJob, body: body(Reschedule) },
    responses: responses(RescheduledJob, "The job is queued", refused),
  });
  serveValue(api, route, "jobforge_reschedule_job", "job", async (c, session) => {
    const { run_at, max_attempts } = c.req.valid("json");
    return {
      ...jobOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
      p_run_at: run_at,
      p_max_attempts: max_attempts,
      p_payload: memberOf(await unmaskedBody(c), "payload"),
    };
  });
}

function copy(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/jobs/{id}/copy",
    operationId: "copyJob",
    summary: "Enqueue a new job like this one, with changes",
    description:
      "The job may have any status. The copy has its type, payload, priority, tags, subject and concurrency key, but none of its other keys. It is due now unless `run_at` says otherwise.",
    tags,
    request: { ...ofJob, body: body(JobCopy) },
    responses: responses(Job, "Not used", {
      201: json(Job, "The new job"),
      404: problem("The tenant has no such job"),
    }),
  });
  serve(api, route, async (c) => {
    const changes = withTexts(c.req.valid("json"), await unmaskedBody(c), ["payload"]);
    const text = await api.services.as(c, async (session) => {
      const source = jobOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session);
      const made = required(
        await session.value("jobforge_copy_job", { ...source, p_changes: changes }),
        "job",
      );
      const { id: p_job_id } = JSON.parse(made) as { id: string };
      return isFromSession(c.req.raw.headers) ? await maskedJob(session, { ...source, p_job_id }) : made;
    });
    const { id } = JSON.parse(text) as { id: string };
    return respond(text, 201, { location: `/v1/jobs/${id}` });
  });
}

function reveal(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/jobs/{id}/reveal",
    operationId: "revealJob",
    summary: "Show what sessions see masked: payload, progress and result",
    description:
      "In a session, the values of keys that the policy of the type lists in `redact` are masked. The audit log says who asked to see them.",
    tags,
    request: ofJob,
    responses: responses(RevealedJob, "Without masks", { 404: problem("The tenant has no such job") }),
  });
  serveValue(api, route, "jobforge_reveal_job", "job", (c, session) =>
    jobOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
  );
}
