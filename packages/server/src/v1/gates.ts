/** /v1/gates: pause and resume everything, a type or a tenant. */
import { createRoute } from "@hono/zod-openapi";
import { type Api, body, responses, servePage, serveValue } from "./api.ts";
import { pageOf } from "./schemas/basic.ts";
import { ChangedGate, Gate, GateChange } from "./schemas/gates.ts";

const path = "/v1/gates";
const tags = ["Gates"];

export function gateRoutes(api: Api): void {
  const list = createRoute({
    method: "get",
    path,
    operationId: "listGates",
    summary: "List the gates that are closed now",
    tags,
    responses: responses(pageOf(Gate), "All closed gates"),
  });
  servePage(api, list, "jobforge_list_gates");
  const set = createRoute({
    method: "put",
    path,
    operationId: "setGate",
    summary: "Pause or resume everything, a type or a tenant",
    tags,
    request: { body: body(GateChange) },
    responses: responses(ChangedGate, "The gate"),
  });
  serveValue(api, set, "jobforge_set_gate", "gate", (c) => {
    const { scope, key = null, paused, reason, until } = c.req.valid("json");
    return { p_scope: scope, p_key: key, p_paused: paused, p_reason: reason, p_until: until };
  });
}
