/** /v1/webhooks: who is notified of the ends of jobs; /v1/events: events of the application. */
import { createRoute } from "@hono/zod-openapi";
import type { ApiSession, Arguments } from "../calls.ts";
import { RequestError } from "../errors.ts";
import { withTexts } from "../json-text.ts";
import type { SecretsOfEndpoint } from "../options.ts";
import {
  type Api,
  body,
  json,
  notFound,
  problem,
  problems,
  required,
  respond,
  responses,
  serve,
  servePage,
  serveValue,
} from "./api.ts";
import { pageOf } from "./schemas/basic.ts";
import { Job } from "./schemas/jobs.ts";
import { IdParameter, TenantQuery } from "./schemas/parameters.ts";
import {
  DeletedEndpoint,
  DeliveryQuery,
  Disabling,
  EndpointChanges,
  EndpointSecrets,
  NewEndpoint,
  NewEvent,
  Replay,
  Replayed,
  Rotation,
  SentEvent,
  TestedEndpoint,
  WebhookEndpoint,
} from "./schemas/webhooks.ts";

const tags = ["Webhooks"];
const missing = { 404: problem("The tenant has no such endpoint") };
const path = "/v1/webhooks/{id}";
const ofEndpoint = { params: IdParameter, query: TenantQuery };

interface Named {
  readonly id: string;
  readonly tenant_id?: string | undefined;
}

function endpointOf({ id, tenant_id }: Named, session: ApiSession): Arguments {
  return { p_tenant_id: session.tenant(tenant_id), p_endpoint_id: id };
}

export function webhookRoutes(api: Api): void {
  list(api);
  create(api);
  get(api);
  update(api);
  remove(api);
  steer(api);
  secret(api);
  deliveries(api);
  replay(api);
  send(api);
}

function list(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/webhooks",
    operationId: "listWebhooks",
    summary: "List the endpoints of a tenant, the oldest first",
    tags,
    request: { query: TenantQuery },
    responses: responses(pageOf(WebhookEndpoint), "All endpoints of the tenant"),
  });
  serve(api, route, async (c) => {
    const { tenant_id } = c.req.valid("query");
    const text = await api.services.as(c, (session) => allOf(session, tenant_id));
    return respond(`{"items":${text},"cursor":null}`);
  });
}

async function allOf(session: ApiSession, tenant: string | undefined): Promise<string> {
  const text = await session.value("jobforge_list_webhook_endpoints", {
    p_tenant_id: session.tenant(tenant),
  });
  return text ?? "[]";
}

function create(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/webhooks",
    operationId: "createWebhook",
    summary: "Create an endpoint",
    description: "It gets the events of jobs that end from now on.",
    tags,
    request: { query: TenantQuery, body: body(NewEndpoint) },
    responses: { 201: json(WebhookEndpoint, "The endpoint"), ...problems },
  });
  serve(api, route, async (c) => {
    const p_endpoint = c.req.valid("json");
    const { tenant_id } = c.req.valid("query");
    const text = await api.services.as(c, (session) =>
      session.value("jobforge_set_webhook_endpoint", { p_tenant_id: session.tenant(tenant_id), p_endpoint }),
    );
    const { id } = JSON.parse(required(text, "tenant")) as { readonly id: string };
    return respond(text ?? "", 201, { location: `/v1/webhooks/${id}` });
  });
}

function get(api: Api): void {
  const route = createRoute({
    method: "get",
    path,
    operationId: "getWebhook",
    summary: "Show an endpoint",
    tags,
    request: ofEndpoint,
    responses: responses(WebhookEndpoint, "The endpoint", missing),
  });
  serveValue(api, route, "jobforge_get_webhook_endpoint", "endpoint", (c, session) =>
    endpointOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
  );
}

function update(api: Api): void {
  const route = createRoute({
    method: "patch",
    path,
    operationId: "updateWebhook",
    summary: "Change an endpoint",
    description: "Keys that the request leaves out keep their values. Null sets a key to its default.",
    tags,
    request: { ...ofEndpoint, body: body(EndpointChanges) },
    responses: responses(WebhookEndpoint, "The endpoint after the change", missing),
  });
  serveValue(api, route, "jobforge_set_webhook_endpoint", "endpoint", (c, session) => ({
    ...endpointOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
    p_endpoint: c.req.valid("json"),
  }));
}

function remove(api: Api): void {
  const route = createRoute({
    method: "delete",
    path,
    operationId: "deleteWebhook",
    summary: "Delete an endpoint, and cancel its deliveries that are queued",
    tags,
    request: ofEndpoint,
    responses: responses(DeletedEndpoint, "How many deliveries were canceled", missing),
  });
  serveValue(api, route, "jobforge_delete_webhook_endpoint", "endpoint", (c, session) =>
    endpointOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
  );
}

function steer(api: Api): void {
  const enable = createRoute({
    method: "post",
    path: `${path}/enable`,
    operationId: "enableWebhook",
    summary: "Enable an endpoint. The deliveries that wait for it go out",
    tags,
    request: ofEndpoint,
    responses: responses(WebhookEndpoint, "The endpoint", missing),
  });
  serveValue(api, enable, "jobforge_enable_webhook_endpoint", "endpoint", (c, session) =>
    endpointOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
  );
  const disable = createRoute({
    method: "post",
    path: `${path}/disable`,
    operationId: "disableWebhook",
    summary: "Disable an endpoint. Its deliveries wait in the queue",
    tags,
    request: { ...ofEndpoint, body: body(Disabling) },
    responses: responses(WebhookEndpoint, "The endpoint", missing),
  });
  serveValue(api, disable, "jobforge_disable_webhook_endpoint", "endpoint", (c, session) => ({
    ...endpointOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
    p_reason: c.req.valid("json").reason,
  }));
  const rotate = createRoute({
    method: "post",
    path: `${path}/rotate`,
    operationId: "rotateWebhook",
    summary: "Give an endpoint a new signing key. The one before signs as well for a while",
    tags,
    request: { ...ofEndpoint, body: body(Rotation) },
    responses: responses(WebhookEndpoint, "The endpoint", missing),
  });
  serveValue(api, rotate, "jobforge_rotate_webhook_endpoint", "endpoint", (c, session) => {
    const { keep, master_key } = c.req.valid("json");
    const named = endpointOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session);
    return { ...named, p_keep: keep, p_master_key: master_key };
  });
  const test = createRoute({
    method: "post",
    path: `${path}/test`,
    operationId: "testWebhook",
    summary: "Send the event webhook.test, on the same way as every other delivery",
    tags,
    request: ofEndpoint,
    responses: responses(TestedEndpoint, "The ids of the event and of the delivery", missing),
  });
  serveValue(api, test, "jobforge_test_webhook_endpoint", "endpoint", (c, session) =>
    endpointOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session),
  );
}

function secret(api: Api): void {
  const route = createRoute({
    method: "get",
    path: `${path}/secret`,
    operationId: "getWebhookSecret",
    summary: "Show what the receiver verifies signatures with, the newest key first",
    description:
      "The server derives it from the master key, so it needs `JOBFORGE_WEBHOOK_MASTER_KEY`. Workers may not read it.",
    tags,
    request: ofEndpoint,
    responses: responses(EndpointSecrets, "The secrets, or public keys", {
      404: problem("The tenant has no such endpoint, or the server has no master key"),
    }),
  });
  serve(api, route, async (c) => {
    const { id } = c.req.valid("param");
    const { tenant_id } = c.req.valid("query");
    // A caller that may list endpoints may see their secrets. A worker may only read one, so that call decides nothing.
    const text = await api.services.as(c, (session) => allOf(session, tenant_id));
    const endpoints = JSON.parse(text) as readonly Parameters<SecretsOfEndpoint>[0][];
    const endpoint = endpoints.find((each) => each.id === id.toLowerCase());
    if (endpoint === undefined) throw notFound("endpoint");
    const items = secretsOf(api.services.settings.webhookSecrets, endpoint);
    return respond(JSON.stringify({ items }), 200, { "cache-control": "private, no-store" });
  });
}

function secretsOf(
  derive: SecretsOfEndpoint | undefined,
  endpoint: Parameters<SecretsOfEndpoint>[0],
): ReturnType<SecretsOfEndpoint> {
  const found = derive?.(endpoint);
  if (found !== undefined) return found;
  throw new RequestError(404, "PGRST116", "This server has no master key for the endpoint", {
    name: "no_master_key",
    hint: "Set JOBFORGE_WEBHOOK_MASTER_KEY as the workers have it, or pass the option webhookSecrets.",
  });
}

function deliveries(api: Api): void {
  const route = createRoute({
    method: "get",
    path: `${path}/deliveries`,
    operationId: "listDeliveries",
    summary: "List the deliveries of an endpoint, newest first",
    description: "A delivery is a job. Its tag is the type of the event.",
    tags,
    request: { params: IdParameter, query: DeliveryQuery },
    responses: responses(pageOf(Job), "A page of deliveries"),
  });
  servePage(api, route, "jobforge_list_webhook_deliveries", (c, session) => {
    const { tenant_id, ...filters } = c.req.valid("query");
    return { ...endpointOf({ ...c.req.valid("param"), tenant_id }, session), p_filters: filters };
  });
}

function replay(api: Api): void {
  const route = createRoute({
    method: "post",
    path: `${path}/replay`,
    operationId: "replayDeliveries",
    summary: "Deliver again what failed or is dead, or what the filters select",
    description: "Receivers get the same `webhook-id` with a new time.",
    tags,
    request: { ...ofEndpoint, body: body(Replay) },
    responses: responses(Replayed, "How many deliveries matched, and how many go out again", missing),
  });
  serveValue(api, route, "jobforge_replay_webhook_deliveries", "endpoint", (c, session) => {
    const { filters, limit } = c.req.valid("json");
    const named = endpointOf({ ...c.req.valid("param"), ...c.req.valid("query") }, session);
    return { ...named, p_filters: filters, p_limit: limit };
  });
}

function send(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/events",
    operationId: "sendEvent",
    summary: "Send an event of the application to the endpoints that want it",
    tags,
    request: { query: TenantQuery, body: body(NewEvent) },
    responses: responses(SentEvent, "The id of the event, and the jobs that deliver it"),
  });
  serveValue(api, route, "jobforge_send_event", "tenant", async (c, session) => ({
    p_tenant_id: session.tenant(c.req.valid("query").tenant_id),
    p_event: withTexts(c.req.valid("json"), await c.req.text(), ["data"]),
  }));
}
