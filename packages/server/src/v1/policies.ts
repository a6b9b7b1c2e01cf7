/** /v1/policies and /v1/types/{type}/policy: how jobs of a type are retried, leased and kept. */
import { createRoute } from "@hono/zod-openapi";
import { type Api, body, respond, responses, serve, serveValue } from "./api.ts";
import { pageOf } from "./schemas/basic.ts";
import { Policy, PolicyChanges, PolicyListQuery, PolicyParameters, ResetPolicy } from "./schemas/policies.ts";

const path = "/v1/types/{type}/policy";
const tags = ["Types"];

export function policyRoutes(api: Api): void {
  const list = createRoute({
    method: "get",
    path: "/v1/policies",
    operationId: "listPolicies",
    summary: "List the default policy, whose `type` is `*`, and those that types have of their own",
    tags,
    request: { query: PolicyListQuery },
    responses: responses(pageOf(Policy), "A page of policies, in the order of their types"),
  });
  serve(api, list, async (c) => {
    const { limit, cursor } = c.req.valid("query");
    const p_filters = { limit, cursor };
    const text = await api.services.as(c, (session) =>
      session.value("jobforge_list_policies", { p_filters }),
    );
    const items = JSON.parse(text ?? "[]") as { type: string }[];
    const next = items.length < limit ? undefined : items.at(-1)?.type;
    return respond(`{"items":${text},"cursor":${JSON.stringify(next ?? null)}}`);
  });
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
  const reset = createRoute({
    method: "delete",
    path,
    operationId: "resetPolicy",
    summary: "Remove the policy of a type, so that the default applies",
    description: "`*` resets the default policy to the values of a new installation.",
    tags,
    request: { params: PolicyParameters },
    responses: responses(ResetPolicy, "Whether there was a policy, and the one that applies now"),
  });
  serveValue(api, reset, "jobforge_reset_policy", "policy", (c) => ({ p_type: c.req.valid("param").type }));
}
