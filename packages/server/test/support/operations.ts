/** Every operation of the REST API, with what a valid request needs. */
import { U } from "./server.ts";

/** A word that occurs only in the rows of the other tenant. */
export const otherSecret = "the-others-secret";

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
}

interface DocumentedOperation {
  readonly parameters?: readonly Parameter[];
  readonly security?: readonly unknown[];
}

interface Parameter {
  readonly name: string;
  readonly in: string;
}

export interface Operation {
  /** As in the document, such as `/v1/jobs/{id}`. */
  readonly path: string;
  /** In lower case. */
  readonly method: string;
  /** Whether the query may name a tenant. */
  readonly takesTenant: boolean;
}

/** The operations of the document that need a token. */
export function operationsOf({ paths }: OpenApi): Operation[] {
  const needsToken = ([, { security }]: [string, DocumentedOperation]): boolean => security?.length !== 0;
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(needsToken)
      .map(([method, { parameters = [] }]) => ({
        path,
        method,
        takesTenant: parameters.some((each) => each.in === "query" && each.name === "tenant_id"),
      })),
  );
}

/** A path with values for its parameters, which are written as `{id}` or `:id`. */
export function pathFor(path: string, values: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{(\w+)\}|:(\w+)/g, (_, braced, plain) => values[String(braced ?? plain)] ?? "x");
}

/** Bodies for the operations that need one. */
export const bodies: Readonly<Record<string, unknown>> = {
  "post /v1/jobs": { type: "intruder" },
  "patch /v1/jobs/{id}": { priority: 9 },
  "post /v1/jobs/{id}/reschedule": {},
  "post /v1/jobs/{id}/copy": { payload: { intruder: true } },
  "post /v1/artifacts/payloads": { text: "large" },
  "post /v1/bulk/enqueue": { jobs: [{ type: "intruder" }] },
  "post /v1/bulk/cancel": { filters: { status: ["queued", "running"] } },
  "post /v1/bulk/reschedule": { filters: { status: ["queued", "dead"] } },
  "post /v1/bulk/count": { filters: { tags: otherSecret } },
  "post /v1/bulk/purge": { filters: { status: ["dead", "succeeded"] } },
  "put /v1/limits": { scope: "tenant", key: U, max_running: 0 },
  "patch /v1/tenants/{tenant_id}": { max_pending: 0 },
  "put /v1/schedules/{type}/{key}": { cron: "@daily", payload: { intruder: true } },
  "patch /v1/schedules/{type}/{key}": { priority: 9 },
  "post /v1/cron/preview": { expression: "@daily" },
  "post /v1/workflows": { name: "intruder", steps: [{ name: "a", type: "intruder" }] },
  "post /v1/workflows/bulk/cancel": { filters: { name: "intruder" } },
  "post /v1/workflows/bulk/retry": { filters: { name: "intruder" } },
  "patch /v1/workflows/{id}": { priority: 1 },
  "post /v1/workflows/{id}/steps": { steps: [{ name: "intruder", type: "intruder" }] },
  "post /v1/workflows/{id}/cancel": {},
  "post /v1/workflows/{id}/signals/{name}": {},
  "post /v1/workflows/{id}/retry": {},
  "post /v1/workflows/{id}/resolve": { step: "a", status: "skipped" },
  "post /v1/webhooks": { url: "https://intruder.example/hooks" },
  "patch /v1/webhooks/{id}": { url: "https://intruder.example/hooks" },
  "post /v1/webhooks/{id}/disable": { reason: "intruder" },
  "post /v1/webhooks/{id}/rotate": { keep: "0s" },
  "post /v1/webhooks/{id}/replay": { filters: { status: ["succeeded", "dead"] } },
  "post /v1/events": { type: "intruder.was.here" },
  "patch /v1/types/{type}/policy": { max_attempts: 1 },
  "put /v1/gates": { scope: "tenant", key: U, paused: true },
  "post /v1/tokens": { name: "intruder", role: "jobforge_app", tenant_id: U },
};

/** Query parameters for the operations that need them. */
export const queries: Readonly<Record<string, string>> = {
  "delete /v1/limits": `scope=tenant&key=${U}`,
};
