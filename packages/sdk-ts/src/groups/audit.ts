/** The audit log. */
import { checkTenant } from "../arguments/names.ts";
import { checkDate } from "../arguments/values.ts";
import { checkedPageSize, List, type PageOptions } from "../jobs/list.ts";
import { knownOptions } from "../option-names.ts";
import { fromRows, toKeys } from "../rows.ts";
import type { Transport } from "../transport/transport.ts";
import type { AuditEntityType } from "../words.ts";

export interface AuditEntry {
  readonly id: number;
  readonly at: Date;
  readonly tenantId: string;
  /** What people call the tenant; undefined if it has no label. */
  readonly tenantLabel: string | undefined;
  readonly actor: string;
  readonly action: string;
  readonly entityType: string;
  readonly entityId: string | undefined;
  readonly message: string | undefined;
  readonly meta: unknown;
}

/** Which entries of the audit log to list. An entry must match every given option. */
export interface AuditOptions extends PageOptions {
  /** Without it: all tenants, for operators. */
  readonly tenantId?: string | undefined;
  readonly action?: string | undefined;
  readonly entityType?: AuditEntityType | undefined;
  readonly entityId?: string | undefined;
  readonly actor?: string | undefined;
  readonly after?: Date | undefined;
  readonly before?: Date | undefined;
}

export class AuditLog {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The entries, newest first: of one tenant, or of all. */
  list(options: AuditOptions = {}): List<AuditEntry> {
    const { tenantId, pageSize: _, ...filters } = knownOptions(options, "audit");
    if (tenantId !== undefined) checkTenant(tenantId);
    if (filters.after !== undefined) checkDate(filters.after, "after");
    if (filters.before !== undefined) checkDate(filters.before, "before");
    const limit = checkedPageSize(options);
    return new List(async (cursor) => {
      const rows = await this.#transport.call<object[]>("jobforge_list_audit", {
        p_tenant_id: tenantId,
        p_filters: { ...toKeys(filters), limit, cursor },
      });
      const items = fromRows<AuditEntry>(rows);
      const last = items.length === limit ? items.at(-1)?.id : undefined;
      return { items, cursor: last?.toString() };
    });
  }
}
