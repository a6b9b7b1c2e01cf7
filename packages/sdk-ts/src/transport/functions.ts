/** The public SQL functions as clients call them. `api.generated.ts` has the signatures, written from sql/api.json. */
import { type ApiReturns, signatures } from "./api.generated.ts";

export interface ApiFunction {
  /** Parameters with their SQL types. */
  readonly parameters: ReadonlyMap<string, string>;
  readonly returns: ApiReturns;
  /** The roles that may call it. */
  readonly callers: readonly string[];
  /** The call acts for the tenant of `p_tenant_id`. A caller that is trusted to name its tenant names that one. */
  readonly namesTenant: boolean;
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
    const namesTenant = types.has("p_tenant_id") && !tenantIsArgument.has(name);
    return [name, { parameters: types, returns, callers, namesTenant }];
  }),
);
