/** /v1/workflows: start, show and steer workflows. */
import { createRoute } from "@hono/zod-openapi";
import type { ApiSession, Arguments } from "../calls.ts";
import { memberOf, withTexts } from "../json-text.ts";
import {
  type Api,
  body,
  json,
  problem,
  required,
  respond,
  responses,
  serve,
  servePage,
  serveValue,
} from "./api.ts";
import { pageOf } from "./schemas/basic.ts";
import { Reason } from "./schemas/jobs.ts";
import { IdParameter, TenantQuery } from "./schemas/parameters.ts";
import {
  AddedSteps,
  AddSteps,
  CanceledWorkflow,
  CancelWorkflow,
  NewSignal,
  NewWorkflow,
  ResolvedStep,
  ResolveStep,
  RetriedWorkflow,
  RetryWorkflow,
  SentSignal,
  SignalParameters,
  StartedWorkflow,
  Step,
  StepQuery,
  Workflow,
  WorkflowBulk,
  WorkflowBulkResult,
  WorkflowChanges,
  WorkflowDetails,
  WorkflowQuery,
} from "./schemas/workflows.ts";

const tags = ["Workflows"];
const missing = { 404: problem("The tenant has no such workflow") };
const notRetryable = { 409: problem("There is no such workflow or step, or nothing in it ended badly") };
const ended = { 409: problem("There is no such workflow, or it has ended") };

const ofWorkflow = { params: IdParameter, query: TenantQuery };

interface WorkflowParameters {
  readonly id: string;
  readonly tenant_id?: string | undefined;
}

/** The arguments that name the workflow of a request. */
function workflowOf({ id, tenant_id }: WorkflowParameters, session: ApiSession): Arguments {
  return { p_workflow_id: id, p_tenant_id: session.tenant(tenant_id) };
}

export function workflowRoutes(api: Api): void {
  start(api);
  list(api);
  get(api);
  explain(api);
  steps(api);
  signal(api);
  resolve(api);
  // Before those of one workflow, whose id could be any word.
  changeMany(api, "cancel", "Cancel the running workflows that match a filter, the newest first");
  changeMany(api, "retry", "Retry the failed workflows that match a filter, the newest first");
  retry(api);
  cancel(api);
  update(api);
  addSteps(api);
}

function start(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/workflows",
    operationId: "startWorkflow",
    summary: "Start a workflow",
    description:
      "All steps are created, or none. Payloads may refer to the input and to results of other steps.",
    tags,
    request: { query: TenantQuery, body: body(NewWorkflow) },
    responses: responses(StartedWorkflow, "A workflow with this key existed", {
      201: json(StartedWorkflow, "The workflow was started"),
    }),
  });
  serve(api, route, async (c) => {
    const { tenant_id } = c.req.valid("query");
    const { name, steps, input = {}, ...options } = c.req.valid("json");
    const traceparent = c.get("traceparent");
    const written = await c.req.text();
    const text = await api.services.as(c, (session) =>
      session.value("jobforge_start_workflow", {
        p_tenant_id: session.tenant(tenant_id),
        p_name: name,
        p_steps: memberOf(written, "steps") ?? steps,
        p_input: memberOf(written, "input") ?? input,
        p_options: withTexts({ ...options, traceparent }, written, ["output"]),
      }),
    );
    const { id, outcome } = JSON.parse(text ?? "{}") as { id: string; outcome: string };
    return outcome === "created"
      ? respond(text ?? "", 201, { location: `/v1/workflows/${id}` })
      : respond(text ?? "");
  });
}

function list(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/workflows",
    operationId: "listWorkflows",
    summary: "List the workflows of a tenant, newest first",
    tags,
    request: { query: WorkflowQuery },
    responses: responses(pageOf(Workflow), "A page of workflows"),
  });
  servePage(api, route, "jobforge_list_workflows", (c, session) => {
    const { tenant_id, ...filters } = c.req.valid("query");
    return { p_tenant_id: session.tenant(tenant_id), p_filters: filters };
  });
}

function get(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/workflows/{id}",
    operationId: "getWorkflow",
    summary: "Show a workflow, with counts of its steps and what it waits for",
    tags,
    request: ofWorkflow,
    responses: responses(WorkflowDetails, "The workflow", missing),
  });
  serveValue(api, route, "jobforge_get_workflow", "workflow", (c, session) =>
    workflowOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
  );
}

function explain(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/workflows/{id}/explain",
    operationId: "explainWorkflow",
    summary: "Explain what a workflow waits for, or how it ended",
    tags,
    request: ofWorkflow,
    responses: responses(pageOf(Reason), "The reasons, most important first", missing),
  });
  serve(api, route, async (c) => {
    const text = await api.services.as(c, (session) =>
      session.value(
        "jobforge_explain_workflow",
        workflowOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
      ),
    );
    return respond(`{"items":${required(text, "workflow")},"cursor":null}`);
  });
}

function steps(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/workflows/{id}/steps",
    operationId: "listSteps",
    summary: "List the steps of a workflow, in the order in which they were made",
    tags,
    request: { params: IdParameter, query: StepQuery },
    responses: responses(pageOf(Step), "A page of steps. Empty if the tenant has no such workflow"),
  });
  servePage(api, route, "jobforge_list_steps", (c, session) => {
    const { tenant_id, ...filters } = c.req.valid("query");
    return { ...workflowOf({ ...c.req.valid("param"), tenant_id }, session), p_filters: filters };
  });
}

function cancel(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/workflows/{id}/cancel",
    operationId: "cancelWorkflow",
    summary: "Cancel a workflow",
    description:
      "Queued jobs are canceled at once, running ones are asked to stop, and only steps for cleanup start.",
    tags,
    request: { ...ofWorkflow, body: body(CancelWorkflow) },
    responses: responses(CanceledWorkflow, "The workflow ends when its last job has ended", ended),
  });
  serveValue(api, route, "jobforge_cancel_workflow", "workflow", (c, session) => ({
    ...workflowOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
    p_reason: c.req.valid("json").reason,
  }));
}

function retry(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/workflows/{id}/retry",
    operationId: "retryWorkflow",
    summary: "Run what ended badly in a workflow again",
    description:
      "Steps that succeeded keep their results, and what was canceled because of a bad end runs, too.",
    tags,
    request: { ...ofWorkflow, body: body(RetryWorkflow) },
    responses: responses(RetriedWorkflow, "What runs again", notRetryable),
  });
  serveValue(api, route, "jobforge_retry_workflow", "workflow", (c, session) => {
    const { steps, downstream, reset } = c.req.valid("json");
    return {
      ...workflowOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
      p_steps: steps,
      p_downstream: downstream,
      p_reset: reset,
    };
  });
}

function update(api: Api): void {
  const route = createRoute({
    method: "patch",
    path: "/v1/workflows/{id}",
    operationId: "updateWorkflow",
    summary: "Change the deadline, the priority or the tags of a workflow that runs",
    description: "Priority and tags are those of the steps that have none of their own and do not run yet.",
    tags,
    request: { ...ofWorkflow, body: body(WorkflowChanges) },
    responses: responses(Workflow, "The workflow", ended),
  });
  serveValue(api, route, "jobforge_update_workflow", "workflow", (c, session) => ({
    ...workflowOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
    p_changes: c.req.valid("json"),
  }));
}

function addSteps(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/workflows/{id}/steps",
    operationId: "addSteps",
    summary: "Add steps to a workflow that runs",
    description:
      "A step that exists with the same definition is not added again, so a request may be repeated.",
    tags,
    request: { ...ofWorkflow, body: body(AddSteps) },
    responses: responses(AddedSteps, "How many were added", {
      409: problem("There is no such workflow, it has ended, or a step exists with another definition"),
    }),
  });
  serveValue(api, route, "jobforge_add_steps", "workflow", (c, session) => ({
    ...workflowOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
    p_steps: c.req.valid("json").steps,
  }));
}

function changeMany(api: Api, verb: "cancel" | "retry", summary: string): void {
  const route = createRoute({
    method: "post",
    path: `/v1/workflows/bulk/${verb}`,
    operationId: `${verb}Workflows`,
    summary,
    tags,
    request: { query: TenantQuery, body: body(WorkflowBulk) },
    responses: responses(WorkflowBulkResult, "How many workflows matched, and how many were changed"),
  });
  serveValue(api, route, `jobforge_${verb}_workflows`, "tenant", (c, session) => {
    const { filters, limit } = c.req.valid("json");
    return {
      p_tenant_id: session.tenant(c.req.valid("query").tenant_id),
      p_filters: filters,
      p_limit: limit,
    };
  });
}

function resolve(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/workflows/{id}/resolve",
    operationId: "resolveStep",
    summary: "End a step that ended badly in another way, by hand",
    tags,
    request: { ...ofWorkflow, body: body(ResolveStep) },
    responses: responses(ResolvedStep, "The step has ended so", notRetryable),
  });
  serveValue(api, route, "jobforge_resolve_step", "workflow", async (c, session) => {
    const { step, status, result } = c.req.valid("json");
    return {
      ...workflowOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
      p_step: step,
      p_status: status,
      p_result: memberOf(await c.req.text(), "result") ?? result,
    };
  });
}

function signal(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/workflows/{id}/signals/{name}",
    operationId: "sendSignal",
    summary: "Send a signal to a workflow",
    description: "The signal is kept until a step takes it. Each is taken once, the oldest first.",
    tags,
    request: { params: SignalParameters, query: TenantQuery, body: body(NewSignal) },
    responses: responses(SentSignal, "Whether it was sent, or was sent before with this key", ended),
  });
  serveValue(api, route, "jobforge_send_signal", "workflow", async (c, session) => {
    const { id, name } = c.req.valid("param");
    const { payload, key } = c.req.valid("json");
    return {
      p_tenant_id: session.tenant(c.req.valid("query").tenant_id),
      p_target_id: id,
      p_name: name,
      p_payload: memberOf(await c.req.text(), "payload") ?? payload,
      p_key: key,
    };
  });
}
