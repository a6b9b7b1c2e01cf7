/** Creates schedules that code declares, and writes them as the JSON that the kernel reads. */
import { checkDate, checkTenant, checkText, checkType, globalTenant, requireObject } from "../arguments.ts";
import { prepareJob } from "../enqueue/prepare.ts";
import { JsonText } from "../json.ts";
import { toKeys } from "../rows.ts";
import type { JobDefinition } from "./definition.ts";
import type { Rhythm, ScheduleDefinition, ScheduleDefinitionOptions, ScheduleSettings } from "./schedule.ts";

/**
 * Declares a schedule: a job, its due times and its input. `forge.sync()` writes it to the database, and checks the
 * rhythm and the payload.
 */
export function defineSchedule<D extends JobDefinition>(
  options: ScheduleDefinitionOptions<D>,
): ScheduleDefinition<D> {
  requireObject(options, "options", "Pass { job, key } and one of cron, every and dynamic.");
  const { job, key, tenantId = globalTenant, payload, ...rest } = options;
  checkType(job?.type, "job");
  checkText(key, "key");
  checkTenant(tenantId);
  const { cron, timezone, every, anchor, jitter, dynamic, ...settings } = rest;
  const rhythm = { cron, timezone, every, anchor, jitter, dynamic } as Rhythm;
  checkDates({ ...rhythm, ...settings });
  return { job, key, tenantId, payload, rhythm, settings };
}

const times = ["anchor", "startsAt", "endsAt", "nextRunAt", "firstRunAt"] as const;

/** Checks all given times. An invalid Date serializes to null, which has another meaning. */
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

/**
 * The options of a schedule under the kernel's keys, with the settings that the job's definition has for its runs. `at`
 * is a prefix for the names of fields in errors.
 */
export async function scheduleJson(
  job: JobDefinition,
  options: ScheduleJsonOptions,
  more: object = {},
  at = "",
): Promise<JsonText> {
  const { tenantId, payload = {}, priority, maxAttempts, tags, subject, concurrencyKey, ...rest } = options;
  // A schedule keeps its runs apart by its overlap mode, not by a dedupe key: this one is left out again. Its runs get
  // the attempts of the policy.
  const dedupeKey = "schedule";
  const ofRuns = { tenantId, priority, maxAttempts, tags, subject, concurrencyKey, dedupeKey };
  const prepared = await prepareJob(job, payload, ofRuns, at);
  const { dedupe_key: _, dedupe_mode: __, default_attempts: ___, ...keys } = prepared.keys;
  const text = JSON.stringify({ ...more, ...toKeys(rest), ...keys });
  return new JsonText(`{"payload":${prepared.payload.text}${text === "{}" ? "" : ","}${text.slice(1)}`);
}
