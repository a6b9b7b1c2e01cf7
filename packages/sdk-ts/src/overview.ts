/** What there is, in numbers: jobs by filter, failures by kind, types, and the state of the installation. */
import { checkRange, checkTenant } from "./arguments.ts";
import type { JobFilters, JobStatus } from "./job.ts";
import { filterKeys } from "./list.ts";
import { fromRow } from "./rows.ts";
import type { Transport } from "./transport.ts";

/** Which jobs are counted: of a tenant, or without one of all, for operators. */
export interface CountOptions extends JobFilters {
  readonly tenantId?: string | undefined;
  /** Only jobs that this bulk change would touch. */
  readonly change?: "cancel" | "reschedule" | "purge" | undefined;
}

export interface JobCount {
  readonly tenantId: string;
  readonly type: string;
  readonly status: JobStatus;
  readonly jobs: number;
}

export interface DeadGroupOptions extends JobFilters {
  readonly tenantId?: string | undefined;
  /** Groups, 1 to 1000. Default 50. */
  readonly limit?: number | undefined;
}

/** Failed and dead jobs of one type with one kind of error. */
export interface DeadGroup {
  /** A filter of lists and bulk changes. */
  readonly errorGroup: string;
  readonly type: string;
  /** Of the newest job. */
  readonly message: string;
  readonly jobs: number;
  readonly tenantIds: readonly string[];
  readonly firstAt: Date;
  readonly lastAt: Date;
  readonly newestJobId: string;
}

export interface TypeOptions {
  /** Of how long ended jobs are counted, in milliseconds: up to seven days. Default: an hour. */
  readonly spanMs?: number | undefined;
}

export interface TypeInfo {
  readonly type: string;
  readonly due: number;
  readonly scheduled: number;
  readonly running: number;
  readonly oldestDueAt: Date | undefined;
  /** Ended within the span; so are the next ones. */
  readonly succeeded: number;
  readonly failed: number;
  readonly dead: number;
  readonly canceled: number;
  /** Median from due to start; of the last run. */
  readonly waitMs: number | undefined;
  readonly runMs: number | undefined;
  /** Alive and able to run it. */
  readonly workers: number;
  readonly paused: boolean;
  readonly hasPolicy: boolean;
  /** False: due, scheduled and running are estimates, because there are many. */
  readonly exact: boolean;
}

/** Facts about the installation, as jobforge_health answers them. */
export interface Health {
  readonly version: string;
  readonly minClient: string;
  readonly apiSchema: string;
  readonly timeTravel: boolean;
  readonly now: string;
  readonly grants: readonly {
    readonly object: string;
    readonly wanted: readonly string[];
    readonly granted: readonly string[];
  }[];
  readonly openTables: readonly string[];
  readonly hot: {
    readonly live: number;
    readonly dead: number;
    readonly table_bytes: number;
    readonly index_bytes: number;
    readonly vacuumed_at: string | null;
    readonly autovacuum: boolean;
  };
  readonly leaves: readonly {
    readonly branch: string;
    readonly keep_days: number;
    readonly ahead_to: string;
  }[];
  readonly lacksShelf: boolean;
  readonly overdueLeaves: number;
  readonly maintainedAt: Readonly<Record<string, string>> | undefined;
  readonly outbox: number;
}

export async function countJobs(transport: Transport, options: CountOptions): Promise<JobCount[]> {
  const { tenantId, change, ...filters } = options;
  if (tenantId !== undefined) checkTenant(tenantId);
  const rows = await transport.call<object[]>("jobforge_count_jobs", {
    p_tenant_id: tenantId,
    p_filters: filterKeys(filters),
    p_change: change,
  });
  return rows.map((row) => fromRow<JobCount>(row));
}

export async function listDeadGroups(transport: Transport, options: DeadGroupOptions): Promise<DeadGroup[]> {
  const { tenantId, limit, ...filters } = options;
  if (tenantId !== undefined) checkTenant(tenantId);
  if (limit !== undefined) checkRange(limit, "limit", 1, 1000);
  const rows = await transport.call<object[]>("jobforge_list_dead_groups", {
    p_tenant_id: tenantId,
    p_filters: { ...filterKeys(filters), limit },
  });
  return rows.map((row) => fromRow<DeadGroup>(row));
}

export async function listTypes(transport: Transport, { spanMs }: TypeOptions): Promise<TypeInfo[]> {
  if (spanMs !== undefined) checkRange(spanMs, "spanMs", 1, 7 * 86_400_000);
  const rows = await transport.call<object[]>("jobforge_list_types", {
    p_span: spanMs === undefined ? undefined : `${spanMs} milliseconds`,
  });
  return rows.map((row) => fromRow<TypeInfo>(row));
}

export async function readHealth(transport: Transport): Promise<Health> {
  // `now` and `maintained_at` hold what they hold in SQL: the one is a text, the other an object.
  return fromRow<Health>(await transport.call<object>("jobforge_health", {}));
}
