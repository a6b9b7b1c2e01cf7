/** Writes the schedules that code declares to the database. */
import { checkTenant } from "../arguments/names.ts";
import { checkText } from "../arguments/values.ts";
import { checkTimes, scheduleJson } from "../define/define-schedule.ts";
import type { ScheduleDefinition } from "../define/schedule.ts";
import { JsonText } from "../json.ts";
import { fromRow, nameOf } from "../rows.ts";
import type { Transport } from "../transport/transport.ts";
import { bounds } from "../words.ts";
import type { Difference } from "./policies.ts";

/** What a sync did, or would do, for one schedule. */
export interface ScheduleSync {
  readonly tenantId: string;
  readonly type: string;
  readonly key: string;
  /** `disabled`: the application declared the schedule before, and no longer does. */
  readonly action: "created" | "changed" | "unchanged" | "disabled";
  readonly changes: readonly Difference[];
  readonly nextRunAt: Date | undefined;
}

export interface ScheduleSyncOptions {
  readonly app: string;
  readonly tenantId?: string | undefined;
  readonly dryRun?: boolean | undefined;
}

export async function syncSchedules(
  transport: Transport,
  schedules: readonly ScheduleDefinition[],
  { app, tenantId, dryRun }: ScheduleSyncOptions,
): Promise<ScheduleSync[]> {
  checkText(app, "app", bounds.appBytes);
  if (tenantId !== undefined) checkTenant(tenantId);
  const declared = await Promise.all(schedules.map(declaration));
  const rows = await transport.call<ScheduleSync[]>("jobforge_sync_schedules", {
    p_app: app,
    p_schedules: new JsonText(`[${declared.map(({ text }) => text).join()}]`),
    p_tenant_id: tenantId,
    p_dry_run: dryRun,
  });
  return rows.map((row) => {
    const synced = fromRow<ScheduleSync>(row);
    return { ...synced, changes: synced.changes.map((each) => ({ ...each, key: nameOf(each.key) })) };
  });
}

function declaration(schedule: ScheduleDefinition, index: number): Promise<JsonText> {
  const { job, key, tenantId, payload, rhythm, settings } = schedule;
  checkTimes({ ...rhythm, ...settings });
  return scheduleJson(
    job,
    { ...rhythm, ...settings, tenantId, payload },
    { tenant_id: tenantId, type: job.type, key },
    `schedules[${index}].`,
  );
}
