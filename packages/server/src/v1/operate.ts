/** What operators look at and set: types and their policies, gates and workers. */
import { createRoute, z } from "@hono/zod-openapi";
import { type Api, answers, body, pageOf, servePage, serveValue } from "./api.ts";
import { Interval, Time, Type } from "./schemas/basic.ts";
import { Gate, gateScopes, Worker } from "./schemas/operate.ts";
import { Policy, PolicyChanges, TypeInfo } from "./schemas/policies.ts";

const typeParameter = z.object({
  type: Type.openapi({ description: "The type; `*` for all that have no policy of their own" }),
});

export function typeRoutes(api: Api): void {
  const tags = ["Types"];
  const path = "/v1/types/{type}/policy";
  const list = createRoute({
    method: "get",
    path: "/v1/types",
    operationId: "listTypes",
    summary: "List types with what waits, runs and has ended lately",
    tags,
    request: {
      query: z.strictObject({
        span: Interval.optional().openapi({
          description: "Of how long ended jobs are counted: up to seven days. Default: an hour",
          example: "1 day",
        }),
      }),
    },
    responses: answers(pageOf(TypeInfo), "All of them"),
  });
  servePage(api, list, "jobforge_list_types", (c) => ({ p_span: c.req.valid("query").span }));
  const show = createRoute({
    method: "get",
    path,
    operationId: "getPolicy",
    summary: "Show how a type behaves",
    tags,
    request: { params: typeParameter },
    responses: answers(Policy, "Its policy, or the default one, whose `type` is then `*`"),
  });
  serveValue(api, show, "jobforge_get_policy", "policy", (c) => ({ p_type: c.req.valid("param").type }));
  const set = createRoute({
    method: "patch",
    path,
    operationId: "setPolicy",
    summary: "Set how a type behaves",
    description: "What is not named stays as it is.",
    tags,
    request: { params: typeParameter, body: body(PolicyChanges) },
    responses: answers(Policy, "The whole policy"),
  });
  serveValue(api, set, "jobforge_set_policy", "policy", (c) => ({
    p_type: c.req.valid("param").type,
    p_policy: c.req.valid("json"),
  }));
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
  const tags = ["Gates"];
  const list = createRoute({
    method: "get",
    path: "/v1/gates",
    operationId: "listGates",
    summary: "List the gates that are closed now",
    tags,
    responses: answers(pageOf(Gate), "All of them"),
  });
  servePage(api, list, "jobforge_list_gates");
  const set = createRoute({
    method: "put",
    path: "/v1/gates",
    operationId: "setGate",
    summary: "Pause or resume everything, a type or a tenant",
    tags,
    request: { body: body(GateChange) },
    responses: answers(GateAnswer, "The gate"),
  });
  serveValue(api, set, "jobforge_set_gate", "gate", (c) => {
    const { scope, key = null, paused, reason, until } = c.req.valid("json");
    return { p_scope: scope, p_key: key, p_paused: paused, p_reason: reason, p_until: until };
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
  servePage(api, list, "jobforge_list_workers");
}
