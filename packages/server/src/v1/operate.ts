/** What operators look at and set: policies of types, gates and workers. */
import { createRoute, z } from "@hono/zod-openapi";
import { type Api, answers, body, pageOf, required, respond, respondPage, serve } from "./api.ts";
import { Gate, gateScopes, Policy, PolicyChanges, Time, Type, Worker } from "./schemas.ts";

const typeParameter = z.object({
  type: Type.openapi({ description: "The type; `*` for all that have no policy of their own" }),
});

export function policyRoutes(api: Api): void {
  const path = "/v1/types/{type}/policy";
  const show = createRoute({
    method: "get",
    path,
    operationId: "getPolicy",
    summary: "Show how a type behaves",
    tags: ["Types"],
    request: { params: typeParameter },
    responses: answers(Policy, "Its policy, or the default one, whose `type` is then `*`"),
  });
  serve(api, show, async (c) => {
    const { type } = c.req.valid("param");
    const text = await api.services.as(c, (session) =>
      session.value("jobforge_get_policy", { p_type: type }),
    );
    return respond(required(text, "policy"));
  });
  const set = createRoute({
    method: "patch",
    path,
    operationId: "setPolicy",
    summary: "Set how a type behaves",
    description: "What is not named stays as it is.",
    tags: ["Types"],
    request: { params: typeParameter, body: body(PolicyChanges) },
    responses: answers(Policy, "The whole policy"),
  });
  serve(api, set, async (c) => {
    const { type } = c.req.valid("param");
    const policy = c.req.valid("json");
    const text = await api.services.as(c, (session) =>
      session.value("jobforge_set_policy", { p_type: type, p_policy: policy }),
    );
    return respond(required(text, "policy"));
  });
}

const GateChange = z
  .strictObject({
    scope: z.enum(gateScopes),
    key: z
      .string()
      .max(200)
      .nullish()
      .openapi({ description: "The type, or the tenant's id; nothing for `all`" }),
    paused: z.boolean(),
    reason: z.string().max(10_000).nullish(),
    until: Time.nullish().openapi({ description: "When the pause ends by itself" }),
  })
  .openapi("GateChange");

const GateAnswer = z.looseObject({
  scope: z.enum(gateScopes),
  key: z.string(),
  paused: z.boolean(),
  reason: z.string().nullable(),
  until: Time.nullable(),
});

export function gateRoutes(api: Api): void {
  const list = createRoute({
    method: "get",
    path: "/v1/gates",
    operationId: "listGates",
    summary: "List the gates that are closed now",
    tags: ["Gates"],
    responses: answers(pageOf(Gate), "All of them"),
  });
  serve(api, list, async (c) =>
    respondPage(await api.services.as(c, (session) => session.rows("jobforge_list_gates", {}))),
  );
  const set = createRoute({
    method: "put",
    path: "/v1/gates",
    operationId: "setGate",
    summary: "Pause or resume everything, a type or a tenant",
    tags: ["Gates"],
    request: { body: body(GateChange) },
    responses: answers(GateAnswer, "The gate"),
  });
  serve(api, set, async (c) => {
    const { scope, key, paused, reason, until } = c.req.valid("json");
    const text = await api.services.as(c, (session) =>
      session.value("jobforge_set_gate", {
        p_scope: scope,
        p_key: key ?? null,
        p_paused: paused,
        p_reason: reason,
        p_until: until,
      }),
    );
    return respond(text ?? "{}");
  });
}

export function workerRoutes(api: Api): void {
  const list = createRoute({
    method: "get",
    path: "/v1/workers",
    operationId: "listWorkers",
    summary: "List the workers, the last seen first",
    tags: ["Workers"],
    responses: answers(pageOf(Worker), "All of them"),
  });
  serve(api, list, async (c) =>
    respondPage(await api.services.as(c, (session) => session.rows("jobforge_list_workers", {}))),
  );
}
