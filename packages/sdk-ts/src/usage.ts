/** Numbers: what tenants have used, what is live now, what a tenant may have. */
import { checkDate, checkRange, checkTenant, checkText, checkType } from "./arguments.ts";
import { InvalidArgumentError } from "./errors.ts";
import { fromRow, toKeys } from "./rows.ts";
import type { Transport } from "./transport.ts";

/** What rows are split by; what is not named is added up. */
export type Dimension = "tenant" | "type";

export interface UsageOptions {
  /** Without one: every tenant, for operators and readers. */
  readonly tenantId?: string | undefined;
  /** Default: a day ago. Goes back to the start of its hour. */
  readonly from?: Date | undefined;
  /** Default: now. */
  readonly to?: Date | undefined;
  /** How long a row is; `total` is the whole time. Default: `hour`. */
  readonly bucket?: "hour" | "day" | "week" | "month" | "total" | undefined;
  /** Default: by type. */
  readonly by?: readonly Dimension[] | undefined;
  readonly types?: readonly string[] | undefined;
  /** Where days and longer begin, such as `Europe/Berlin`. Default: UTC. */
  readonly timezone?: string | undefined;
}

export interface Usage {
  readonly startAt: Date;
  /** Undefined when tenants are added up; likewise the type. */
  readonly tenantId: string | undefined;
  readonly type: string | undefined;
  /** Executions that ended. */
  readonly runs: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly lost: number;
  readonly deferred: number;
  /** Failed and lost runs after which the job was queued again. */
  readonly retries: number;
  /** Jobs that ended as failed or dead. */
  readonly dead: number;
  readonly costCents: number;
  /** From being due to the start, of all runs together. */
  readonly waitMs: number;
  /** From the start to the end, of all runs together but the lost. */
  readonly runMs: number;
  /** Percentiles of one run, to a fifth; undefined without runs. */
  readonly waitP50Ms: number | undefined;
  readonly waitP95Ms: number | undefined;
  readonly waitP99Ms: number | undefined;
  readonly runP50Ms: number | undefined;
  readonly runP95Ms: number | undefined;
  readonly runP99Ms: number | undefined;
}

export async function readUsage(transport: Transport, options: UsageOptions): Promise<Usage[]> {
  const { tenantId, from, to, bucket, by, types, timezone } = options;
  if (tenantId !== undefined) checkTenant(tenantId);
  if (from !== undefined) checkDate(from, "from");
  if (to !== undefined) checkDate(to, "to");
  if (by !== undefined) checkDimensions(by);
  for (const [index, type] of (types ?? []).entries()) checkType(type, `types[${index}]`);
  if (timezone !== undefined) checkText(timezone, "timezone", 100);
  const rows = await transport.call<object[]>("jobforge_report_usage", {
    p_tenant_id: tenantId,
    p_from: from,
    p_to: to,
    p_bucket: bucket,
    p_by: by,
    p_types: types,
    p_timezone: timezone,
  });
  return rows.map((row) => fromRow<Usage>(row));
}

export interface LiveCountOptions {
  /** Without one: every tenant, for operators and readers. */
  readonly tenantId?: string | undefined;
  /** Default: by type. */
  readonly by?: readonly Dimension[] | undefined;
  /** Up to so many live jobs are counted, more are estimated. Default: 10,000; at most 100,000. */
  readonly cap?: number | undefined;
}

export interface LiveCount {
  readonly tenantId: string | undefined;
  readonly type: string | undefined;
  /** Due. */
  readonly queued: number;
  /** Due later. */
  readonly scheduled: number;
  readonly running: number;
  /** When the oldest queued job became due, and how long ago that is. */
  readonly oldestRunAt: Date | undefined;
  readonly oldestMs: number | undefined;
  /** False: the numbers are estimates. */
  readonly exact: boolean;
}

export async function countLive(transport: Transport, options: LiveCountOptions): Promise<LiveCount[]> {
  const { tenantId, by, cap } = options;
  if (tenantId !== undefined) checkTenant(tenantId);
  if (by !== undefined) checkDimensions(by);
  if (cap !== undefined) checkRange(cap, "cap", 0, 100_000);
  const args = { p_tenant_id: tenantId, p_by: by, p_cap: cap };
  const rows = await transport.call<object[]>("jobforge_count_live", args);
  return rows.map((row) => fromRow<LiveCount>(row));
}

function checkDimensions(by: readonly string[]): void {
  if (!Array.isArray(by) || by.some((each) => each !== "tenant" && each !== "type"))
    throw new InvalidArgumentError('by must be an array of "tenant" and "type"', { field: "by" });
}

/** What can be set for a tenant; what is not named stays. */
export interface TenantSettings {
  /** How many jobs it may have queued and running; null: any number. */
  readonly maxPending?: number | null | undefined;
  /** How many turns it gets where others get one. */
  readonly weight?: number | undefined;
}

export interface TenantInfo {
  readonly tenantId: string;
  readonly maxPending: number | undefined;
  /** How many jobs it has queued and running; known for tenants with a quota. */
  readonly pending: number | undefined;
  readonly weight: number;
}

/** What operators set for single tenants. */
export class Tenants {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async get(tenantId: string): Promise<TenantInfo> {
    checkTenant(tenantId);
    return fromRow(await this.#transport.call<object>("jobforge_get_tenant", { p_tenant_id: tenantId }));
  }

  async set(tenantId: string, settings: TenantSettings): Promise<Omit<TenantInfo, "pending">> {
    checkTenant(tenantId);
    const { maxPending, weight } = settings;
    if (maxPending !== undefined && maxPending !== null)
      checkRange(maxPending, "maxPending", 0, 1_000_000_000);
    if (weight !== undefined) checkRange(weight, "weight", 1, 100);
    const args = { p_tenant_id: tenantId, p_settings: toKeys({ maxPending, weight }) };
    return fromRow(await this.#transport.call<object>("jobforge_set_tenant", args));
  }
}
