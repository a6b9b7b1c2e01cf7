/** Workflows and their steps, and the changes of both. */
import { useQuery } from "@tanstack/preact-query";
import { type Exact, field, isArray, parseExact } from "../lib/json.ts";
import { api, apiBase, bodyOf, type Schemas } from "./client.ts";
import { problemOf } from "./problem.ts";

export type Workflow = Schemas["Workflow"];
export type WorkflowDetails = Schemas["WorkflowDetails"];
export type WorkflowStatus = Workflow["status"];

/** A step, and its payload, result and error with all digits of their numbers. */
export type Step = Schemas["Step"] & { readonly exact: Exact };

export const workflowStatuses: readonly WorkflowStatus[] = ["running", "succeeded", "failed", "canceled"];

export interface WorkflowName {
  readonly id: string;
  readonly tenant: string | undefined;
}

const params = ({ id, tenant }: WorkflowName) => ({
  path: { id },
  query: tenant === undefined ? {} : { tenant_id: tenant },
});

export interface WorkflowFilter {
  readonly status: readonly WorkflowStatus[];
  readonly name: string | undefined;
}

const pageSize = 100;

/** The newest workflows of these tenants. `isCut`: there are older ones. */
export const useWorkflows = (
  { status, name }: WorkflowFilter,
  tenants: readonly (string | undefined)[] | undefined,
) =>
  useQuery({
    queryKey: ["workflows", status, name ?? null, tenants ?? null],
    enabled: tenants !== undefined,
    queryFn: async () => {
      const lists = await Promise.all((tenants ?? []).map((tenant) => listOf(status, name, tenant)));
      const rows = lists.flatMap(({ items }) => items).sort((a, b) => (a.id < b.id ? 1 : -1));
      const isCut = rows.length > pageSize || lists.some(({ cursor }) => cursor !== null);
      return { items: rows.slice(0, pageSize), isCut };
    },
    placeholderData: (before) => before,
    meta: { live: true },
  });

function listOf(status: readonly WorkflowStatus[], name: string | undefined, tenant: string | undefined) {
  const query = {
    limit: pageSize,
    ...(status.length > 0 && { status: [...status] }),
    ...(name && { name }),
    ...(tenant && { tenant_id: tenant }),
  };
  return bodyOf(api.GET("/v1/workflows", { params: { query } }));
}

export const useWorkflow = (name: WorkflowName, isNamed: boolean) =>
  useQuery({
    queryKey: ["workflow", name.id, name.tenant ?? null],
    enabled: isNamed,
    queryFn: async () => {
      const text = await bodyOf(api.GET("/v1/workflows/{id}", { params: params(name), parseAs: "text" }));
      return { row: JSON.parse(text) as WorkflowDetails, exact: parseExact(text) };
    },
    meta: { live: true },
  });

/** A page of a workflow shows up to this many steps. The list of jobs has the items of larger maps. */
export const mostSteps = 1000;

export const useSteps = (name: WorkflowName) =>
  useQuery({
    queryKey: ["steps", name.id, name.tenant ?? null],
    queryFn: async () => {
      const { query, path } = params(name);
      const text = await bodyOf(
        api.GET("/v1/workflows/{id}/steps", {
          params: { path, query: { ...query, limit: mostSteps } },
          parseAs: "text",
        }),
      );
      const page = JSON.parse(text) as { items: Schemas["Step"][]; cursor: string | null };
      const exact = field(parseExact(text), "items");
      const items = page.items.map(
        (step, index): Step => ({ ...step, exact: (isArray(exact) ? exact[index] : undefined) ?? null }),
      );
      return { items, isCut: page.cursor !== null };
    },
    meta: { live: true },
  });

export function cancelWorkflow(name: WorkflowName, reason: string): Promise<unknown> {
  const body = reason === "" ? {} : { reason };
  return bodyOf(api.POST("/v1/workflows/{id}/cancel", { params: params(name), body }));
}

/** Runs these steps again, or all that ended badly. */
export function retryWorkflow(
  name: WorkflowName,
  steps?: readonly string[],
): Promise<Schemas["RetriedWorkflow"]> {
  const body = steps === undefined ? {} : { steps: [...steps] };
  return bodyOf(api.POST("/v1/workflows/{id}/retry", { params: params(name), body }));
}

/** Sends a signal whose payload is already JSON, so that its numbers keep their digits. */
export function sendSignal(
  name: WorkflowName,
  signal: string,
  payload: string,
  key: string,
): Promise<unknown> {
  const body = `{"payload":${payload},"key":${JSON.stringify(key)}}`;
  return post(name, `/signals/${encodeURIComponent(signal)}`, body);
}

export type Resolution = "succeeded" | "skipped";

/** Ends a step by hand. `result` is JSON. */
export function resolveStep(
  name: WorkflowName,
  step: string,
  status: Resolution,
  result: string,
): Promise<unknown> {
  const given = status === "succeeded" ? `,"result":${result}` : "";
  return post(name, "/resolve", `{"step":${JSON.stringify(step)},"status":"${status}"${given}}`);
}

async function post({ id, tenant }: WorkflowName, path: string, body: string): Promise<unknown> {
  const query = tenant === undefined ? "" : `?tenant_id=${tenant}`;
  const response = await fetch(`${apiBase}/v1/workflows/${id}${path}${query}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
    credentials: "same-origin",
  });
  if (!response.ok) throw await problemOf(response);
  return response.json();
}
