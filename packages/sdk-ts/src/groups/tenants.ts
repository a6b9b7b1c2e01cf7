/** Tenants: their quotas and weights, and the logins that are bound to them. */
import { checkTenant } from "../arguments/names.ts";
import { checkKnown, checkRange, checkText } from "../arguments/values.ts";
import { fromRow, fromRows, toKeys } from "../rows.ts";
import type { Transport } from "../transport/transport.ts";
import { bounds } from "../words.ts";

/** The settings of a tenant. A setting that is not given stays as it is. */
export interface TenantSettings {
  /** What people call the tenant, such as the id that the application uses; null: no label. */
  readonly label?: string | null | undefined;
  /** How many jobs the tenant may have queued and running; null: any number. */
  readonly maxPending?: number | null | undefined;
  /** How many different types the tenant may use; null: the default of 1,000. */
  readonly maxTypes?: number | null | undefined;
  /** How many schedules the tenant may have; null: the default of 10,000. */
  readonly maxSchedules?: number | null | undefined;
  /** How many turns the tenant gets where others get one. */
  readonly weight?: number | undefined;
}

export interface TenantInfo {
  readonly tenantId: string;
  readonly label: string | undefined;
  readonly maxPending: number | undefined;
  /** How many jobs the tenant has queued and running; known for tenants with a quota. */
  readonly pending: number | undefined;
  readonly maxTypes: number;
  /** How many types the tenant uses, counted up to one more than `maxTypes`. */
  readonly types: number;
  readonly maxSchedules: number;
  readonly weight: number;
}

/** A tenant in a list. */
export interface ListedTenant extends Omit<TenantInfo, "pending" | "types"> {
  /** About when the tenant last enqueued a job; undefined if it has no job that is remembered. */
  readonly seenAt: Date | undefined;
}

/** The size of a role name in Postgres. */
const roleBytes = { min: 1, max: 63 };

/** Setting and binding are for operators. Readers may get the settings of every tenant, and a tenant its own. */
export class Tenants {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async get(tenantId: string): Promise<TenantInfo> {
    checkTenant(tenantId);
    return fromRow(await this.#transport.call<object>("jobforge_get_tenant", { p_tenant_id: tenantId }));
  }

  async set(tenantId: string, settings: TenantSettings): Promise<Omit<TenantInfo, "pending" | "types">> {
    checkTenant(tenantId);
    checkKnown(settings, ["label", "maxPending", "maxTypes", "maxSchedules", "weight"]);
    const { label, maxPending, maxTypes, maxSchedules, weight } = settings;
    if (label !== undefined && label !== null) checkText(label, "label");
    if (maxPending !== undefined && maxPending !== null)
      checkRange(maxPending, "maxPending", bounds.maxPending);
    if (maxTypes !== undefined && maxTypes !== null) checkRange(maxTypes, "maxTypes", bounds.maxTypes);
    if (maxSchedules !== undefined && maxSchedules !== null)
      checkRange(maxSchedules, "maxSchedules", bounds.maxSchedules);
    if (weight !== undefined) checkRange(weight, "weight", bounds.weight);
    const changes = toKeys({ label, maxPending, maxTypes, maxSchedules, weight });
    const args = { p_tenant_id: tenantId, p_settings: changes };
    return fromRow(await this.#transport.call<object>("jobforge_set_tenant", args));
  }

  /** The tenants that have settings or have enqueued jobs, ordered by their ids. For operators and readers. */
  async list(): Promise<ListedTenant[]> {
    const tenants: ListedTenant[] = [];
    for (;;) {
      const args = { p_after: tenants.at(-1)?.tenantId, p_limit: bounds.pageSize.max };
      const rows = await this.#transport.call<object[]>("jobforge_list_tenants", args);
      tenants.push(...fromRows<ListedTenant>(rows));
      if (rows.length < bounds.pageSize.max) return tenants;
    }
  }

  /** Binds a login to one tenant; null unbinds it. */
  async bindRole(role: string, tenantId: string | null): Promise<void> {
    checkText(role, "role", roleBytes);
    if (tenantId !== null) checkTenant(tenantId);
    await this.#transport.call("jobforge_bind_role", { p_role: role, p_tenant_id: tenantId });
  }
}
