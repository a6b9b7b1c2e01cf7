/** Makes schedules that code declares, and writes them as the kernel reads them. */
import { checkDate, checkTenant, checkText, checkType, globalTenant } from "../arguments.ts";
import { prepareJob } from "../enqueue/prepare.ts";
import { JsonText } from "../json.ts";
import { toKeys } from "../rows.ts";
import type { JobDefinition } from "./definition.ts";
import type { Rhythm, ScheduleDefinition, ScheduleDefinitionOptions, ScheduleSettings } from "./schedule.ts";

/**
 * Declares a schedule: which job, when, with what input. `forge.sync()` brings the database in line with it. Rhythm and payload are
 * checked then.
 */
export function defineSchedule<D extends JobDefinition>(
  options: ScheduleDefinitionOptions<D>,
): ScheduleDefinition<D> {
  const { job, key, tenantId = globalTenant, payload, ...rest } = options;
  checkType(job?.type, "job");
  checkText(key, "key");
  checkTenant(tenantId);
  const { cron, timezone, every, anchor, jitter, dynamic, ...settings } = rest;
  const rhythm = { cron, timezone, every, anchor, jitter, dynamic } as Rhythm;
  checkDates({ ...rhythm, ...settings });
  return { job, key, tenantId, payload, rhythm, settings };
}

const times = ["anchor", "startsAt", "endsAt", "nextRunAt"] as const;

/** Times that are given are valid: one that is not would be null in JSON, which means something else. */
export function checkDates(
  options: { readonly [K in (typeof times)[number]]?: Date | null | undefined },
): void {
  for (const name of times) {
    const time = options[name];
    if (time !== undefined && time !== null) checkDate(time, name);
  }
}

export interface ScheduleJsonOptions extends ScheduleSettings {
  readonly tenantId: string;
  readonly payload?: unknown;
}

/** The options of a schedule under the kernel's keys, with what the job's definition says of its runs. `at` is put before fields. */
export async function scheduleJson(
  job: JobDefinition,
  options: ScheduleJsonOptions,
  more: object = {},
  at = "",
): Promise<JsonText> {
  const { tenantId, payload = {}, priority, maxAttempts, tags, subject, concurrencyKey, ...rest } = options;
  const ofRuns = { tenantId, priority, maxAttempts, tags, subject, concurrencyKey };
  const prepared = await prepareJob(job, payload, ofRuns, at);
  // A schedule has its own way to keep runs apart.
  const { dedupe_key: _, ...keys } = prepared.keys;
  const text = JSON.stringify({ ...more, ...toKeys(rest), ...keys });
  return new JsonText(`${text.slice(0, -1)},"payload":${prepared.payload.text}}`);
}
