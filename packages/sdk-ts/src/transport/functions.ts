/** The public SQL functions as clients call them. `api.generated.ts` has the signatures, written from sql/api.json. */
import { type ApiReturns, signatures } from "./api.generated.ts";

export interface ApiFunction {
  /** Parameters with their SQL types. */
  readonly parameters: ReadonlyMap<string, string>;
  readonly returns: ApiReturns;
  /** The roles that may call it. */
  readonly callers: readonly string[];
  /**
   * The parameter with the tenant, or the list of tenants, for which the call acts. A caller that is trusted to name
   * its tenant names that one. Undefined for a call that acts for none.
   */
  readonly tenant: "p_tenant_id" | "p_tenant_ids" | undefined;
}

/** Functions whose `p_tenant_id` does not say for whom they act: for workers it only narrows what is claimed. */
const tenantIsArgument = new Set([
  "jobforge_claim_jobs",
  "jobforge_settle_jobs",
  "jobforge_settle_jobs_text",
  "jobforge_bind_role",
  "jobforge_create_token",
]);

export const apiFunctions: ReadonlyMap<string, ApiFunction> = new Map(
  Object.entries(signatures).map(([name, { returns, callers, parameters }]) => {
    const types = new Map<string, string>(Object.entries(parameters));
    return [name, { parameters: types, returns, callers, tenant: tenantParameter(name, types) }];
  }),
);

function tenantParameter(name: string, types: ReadonlyMap<string, string>): ApiFunction["tenant"] {
  if (types.has("p_tenant_ids")) return "p_tenant_ids";
  return types.has("p_tenant_id") && !tenantIsArgument.has(name) ? "p_tenant_id" : undefined;
}
