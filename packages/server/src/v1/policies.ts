/** /v1/types/{type}/policy: how jobs of a type are retried, leased and kept. */
import { createRoute } from "@hono/zod-openapi";
import { type Api, body, responses, serveValue } from "./api.ts";
import { Policy, PolicyChanges, PolicyParameters } from "./schemas/policies.ts";

const path = "/v1/types/{type}/policy";
const tags = ["Types"];

export function policyRoutes(api: Api): void {
  const show = createRoute({
    method: "get",
    path,
    operationId: "getPolicy",
    summary: "Show the policy of a type",
    tags,
    request: { params: PolicyParameters },
    responses: responses(Policy, "The type's policy, or the default policy, whose `type` is `*`"),
  });
  serveValue(api, show, "jobforge_get_policy", "policy", (c) => ({ p_type: c.req.valid("param").type }));
  const set = createRoute({
    method: "patch",
    path,
    operationId: "setPolicy",
    summary: "Change the policy of a type",
    description: "Keys that the request leaves out keep their values.",
    tags,
    request: { params: PolicyParameters, body: body(PolicyChanges) },
    responses: responses(Policy, "The whole policy"),
  });
  serveValue(api, set, "jobforge_set_policy", "policy", (c) => ({
    p_type: c.req.valid("param").type,
    p_policy: c.req.valid("json"),
  }));
}
