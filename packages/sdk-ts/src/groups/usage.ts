/** What tenants have used, and what is live now. */
import { checkTenant, checkType } from "../arguments/names.ts";
import { checkDate, checkRange, checkText } from "../arguments/values.ts";
import { InvalidArgumentError } from "../errors.ts";
import { knownOptions } from "../option-names.ts";
import { fromRows } from "../rows.ts";
import type { Transport } from "../transport/transport.ts";
import { bounds, type Dimension, dimensions, type UsagePeriod } from "../words.ts";

export interface UsageOptions {
  /** Without it: all tenants, for operators and readers. */
  readonly tenantId?: string | undefined;
  /** Default: a day ago. It is rounded down to the start of its hour. */
  readonly from?: Date | undefined;
  /** Default: now. */
  readonly to?: Date | undefined;
  /** The period of one row; `total` is the whole time. Default: `hour`. */
  readonly bucket?: UsagePeriod | undefined;
  /** What rows are split by; the others are added up. Default: by type. */
  readonly by?: readonly Dimension[] | undefined;
  readonly types?: readonly string[] | undefined;
  /** The time zone in which days, weeks and months begin, such as `Europe/Berlin`. Default: UTC. */
  readonly timezone?: string | undefined;
}

export interface Usage {
  readonly startAt: Date;
  /** Undefined if tenants are added up. The same holds for the type. */
  readonly tenantId: string | undefined;
  /** What people call the tenant; undefined if it has no label. */
  readonly tenantLabel: string | undefined;
  readonly type: string | undefined;
  /** Runs that ended. */
  readonly runs: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly lost: number;
  readonly deferred: number;
  /** Failed and lost runs after which the job was queued again. */
  readonly retries: number;
  /** Jobs that finished as failed or dead. */
  readonly dead: number;
  readonly costCents: number;
  /** The time from due to start, summed over all runs. */
  readonly waitMs: number;
  /** The time from start to end, summed over all runs except the lost ones. */
  readonly runMs: number;
  /** Percentiles over runs, accurate to a fifth. Undefined without runs. */
  readonly waitP50Ms: number | undefined;
  readonly waitP95Ms: number | undefined;
  readonly waitP99Ms: number | undefined;
  readonly runP50Ms: number | undefined;
  readonly runP95Ms: number | undefined;
  readonly runP99Ms: number | undefined;
}

export interface LiveCountOptions {
  /** Without it: all tenants, for operators and readers. */
  readonly tenantId?: string | undefined;
  /** Default: by type. */
  readonly by?: readonly Dimension[] | undefined;
  /** Up to this many live jobs are counted; more are estimated. Default 10,000, at most 100,000. */
  readonly cap?: number | undefined;
}

export interface LiveCount {
  readonly tenantId: string | undefined;
  readonly type: string | undefined;
  /** Queued jobs that are due. */
  readonly queued: number;
  /** Queued jobs that are due later. */
  readonly scheduled: number;
  readonly running: number;
  /** When the oldest queued job became due, and how long ago that was. */
  readonly oldestRunAt: Date | undefined;
  readonly oldestMs: number | undefined;
  /** False if `queued` and `scheduled` are estimates. `running` is always exact. */
  readonly exact: boolean;
  /** Schedules whose time has come and of which no worker has made a job yet; at most 1,000 of a type are counted. */
  readonly dueSchedules: number;
  /** When the first of them became due. */
  readonly oldestScheduleAt: Date | undefined;
}

const timezoneBytes = { min: 1, max: 100 };

/** For operators and readers; a tenant may read its own numbers. */
export class UsageReports {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * What was used: runs, how they ended, how long they waited and ran, what they cost. While workers run, the numbers
   * are at most ten seconds old.
   */
  async report(options: UsageOptions = {}): Promise<Usage[]> {
    const { tenantId, from, to, bucket, by, types, timezone } = knownOptions(options, "usage");
    if (tenantId !== undefined) checkTenant(tenantId);
    if (from !== undefined) checkDate(from, "from");
    if (to !== undefined) checkDate(to, "to");
    if (by !== undefined) checkDimensions(by);
    for (const [index, type] of (types ?? []).entries()) checkType(type, `types[${index}]`);
    if (timezone !== undefined) checkText(timezone, "timezone", timezoneBytes);
    const rows = await this.#transport.call<object[]>("jobforge_report_usage", {
      p_tenant_id: tenantId,
      p_from: from,
      p_to: to,
      p_bucket: bucket,
      p_by: by,
      p_types: types,
      p_timezone: timezone,
    });
    return fromRows<Usage>(rows);
  }

  /** How many jobs are live now, and since when the oldest waits. */
  async live(options: LiveCountOptions = {}): Promise<LiveCount[]> {
    const { tenantId, by, cap } = knownOptions(options, "live");
    if (tenantId !== undefined) checkTenant(tenantId);
    if (by !== undefined) checkDimensions(by);
    if (cap !== undefined) checkRange(cap, "cap", bounds.liveCap);
    const args = { p_tenant_id: tenantId, p_by: by, p_cap: cap };
    return fromRows<LiveCount>(await this.#transport.call<object[]>("jobforge_count_live", args));
  }
}

function checkDimensions(by: readonly string[]): void {
  if (!Array.isArray(by) || by.some((each) => !dimensions.includes(each)))
    throw new InvalidArgumentError('by must be an array of "tenant" and "type"', { field: "by" });
}
