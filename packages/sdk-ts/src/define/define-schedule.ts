/** Creates schedules that code declares, and writes them as the JSON that the kernel reads. */
import { checkDefinitionOf, checkTenant, globalTenant } from "../arguments/names.ts";
import { checkDate, checkText } from "../arguments/values.ts";
import { prepareJob } from "../enqueue/prepare.ts";
import { InvalidScheduleError } from "../errors.ts";
import { JsonText } from "../json.ts";
import { knownOptions } from "../option-names.ts";
import { toKeys } from "../rows.ts";
import type { JobDefinition } from "./definition.ts";
import type { Rhythm, ScheduleDefinition, ScheduleDefinitionOptions, ScheduleSettings } from "./schedule.ts";

/**
 * Declares a schedule: a job, its due times and its input. Throws an InvalidScheduleError if it does not have exactly
 * one of cron, every and dynamic. `forge.sync()` writes it to the database, and checks the expression and the payload.
 */
export function defineSchedule<D extends JobDefinition>(
  options: ScheduleDefinitionOptions<D>,
): ScheduleDefinition<D> {
  const { job, key, tenantId = globalTenant, payload, ...rest } = knownOptions(options, "defineSchedule");
  checkDefinitionOf(job);
  checkText(key, "key");
  checkTenant(tenantId);
  const { cron, timezone, every, anchor, jitter, dynamic, ...settings } = rest;
  const rhythm = { cron, timezone, every, anchor, jitter, dynamic } as Rhythm;
  checkRhythm(rhythm);
  checkTimes({ ...rhythm, ...settings });
  return { job, key, tenantId, payload, rhythm, settings };
}

/** The options that belong to each kind of rhythm. The kernel has the same table. */
const belongings = { cron: ["timezone"], every: ["anchor", "jitter"], dynamic: [] } as const;

/** The kernel checks this too, but only when the schedule is written, which may be long after the definition. */
function checkRhythm(rhythm: Rhythm): void {
  const options = Object.entries(rhythm).filter(([, value]) => (value ?? false) !== false);
  const given = options.map(([name]) => name);
  const kinds = Object.keys(belongings).filter((kind) => given.includes(kind));
  const [kind, second] = kinds;
  if (kind === undefined)
    throw new InvalidScheduleError("Invalid schedule: it has no rhythm", {
      field: "cron",
      hint: 'Give one of the options cron: "0 7 * * *", every: "5m", and dynamic: true (the handler sets the next run).',
    });
  if (second !== undefined)
    throw new InvalidScheduleError(`Invalid schedule: ${kind} and ${second} exclude each other`, {
      field: second,
      hint: "Give one of the options cron, every and dynamic.",
    });
  for (const [owner, names] of Object.entries(belongings)) {
    const stray = names.find((name) => owner !== kind && given.includes(name));
    if (stray !== undefined)
      throw new InvalidScheduleError(
        `Invalid schedule: ${stray} has no meaning for a schedule of the kind ${kind}`,
        { field: stray, hint: `It belongs to ${owner}.` },
      );
  }
}

const times = ["anchor", "startsAt", "endsAt", "nextRunAt", "firstRunAt"] as const;

const spans = ["every", "jitter"] as const;

/**
 * Checks all given times and time spans. An invalid Date serializes to null, which has another meaning. Postgres reads
 * a number without a unit as seconds, where most libraries mean milliseconds.
 */
export function checkTimes(
  options: { readonly [K in (typeof times)[number]]?: Date | null | undefined } & {
    readonly [K in (typeof spans)[number]]?: string | null | undefined;
  },
): void {
  for (const name of times) {
    const time = options[name];
    if (time !== undefined && time !== null) checkDate(time, name);
  }
  for (const name of spans) {
    const span: unknown = options[name];
    if (typeof span === "number" || (typeof span === "string" && /^\s*[-+]?[\d.]+\s*$/.test(span)))
      throw new InvalidScheduleError(`Invalid schedule: ${name} ${JSON.stringify(span)} has no unit`, {
        field: name,
        hint: `Write a text with the unit, such as "90s", "5m" or "1h30m".`,
      });
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
  // A schedule keeps its runs apart by its overlap mode, not by a dedupe key: this one is left out again.
  const dedupeKey = "schedule";
  const ofRuns = { tenantId, priority, maxAttempts, tags, subject, concurrencyKey, dedupeKey };
  const prepared = await prepareJob(job, payload, ofRuns, at);
  const { dedupe_key: _, dedupe_mode: __, ...keys } = prepared.keys;
  const text = JSON.stringify({ ...more, ...toKeys(rest), ...keys });
  return new JsonText(`{"payload":${prepared.payload.text}${text === "{}" ? "" : ","}${text.slice(1)}`);
}
