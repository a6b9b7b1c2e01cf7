/** What connectors may reach in addition to public addresses. */
import { checkTenant } from "../arguments/names.ts";
import type { OfTenant } from "../jobs/job.ts";
import type { Transport } from "../transport/transport.ts";

/** A policy as workers read it: the keys of the page "connectors". Each of them widens what is reached. */
export type EgressPolicyDocument = Readonly<Record<string, unknown>>;

/** The policies in force for a tenant. A worker adds both to what it allows itself. */
export interface EgressPolicies {
  readonly all: EgressPolicyDocument | undefined;
  readonly tenant: EgressPolicyDocument | undefined;
}

export class Egress {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The policy of all tenants, and with `tenantId` the tenant's own. For workers and operators. */
  async get(options: Partial<OfTenant> = {}): Promise<EgressPolicies> {
    const { all, tenant } = await this.#transport.call<{
      readonly all: EgressPolicyDocument | null;
      readonly tenant: EgressPolicyDocument | null;
    }>("jobforge_get_egress_policy", { p_tenant_id: tenantOf(options) });
    return { all: all ?? undefined, tenant: tenant ?? undefined };
  }

  /**
   * Sets the policy of a tenant, or without `tenantId` of all; null removes it. Workers take it over within seconds.
   * For operators.
   */
  async set(policy: EgressPolicyDocument | null, options: Partial<OfTenant> = {}): Promise<void> {
    const args = { p_tenant_id: tenantOf(options), p_policy: policy };
    await this.#transport.call("jobforge_set_egress_policy", args);
  }
}

/** Null names all tenants. */
function tenantOf({ tenantId }: Partial<OfTenant>): string | null {
  if (tenantId === undefined) return null;
  checkTenant(tenantId);
  return tenantId;
}
