/** Parts shared by the commands for a single schedule: the option for its tenant, and its state in words. */
import {
  bounds,
  defineJob,
  globalTenant,
  type JobForge,
  type Schedule,
  ScheduleNotFoundError,
} from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { type CommonOptions, onDatabase } from "../command.ts";
import { plain } from "../output/terminal.ts";
import { ago, count, readTenant } from "../output/values.ts";

export interface OneOptions extends CommonOptions {
  readonly tenant: string;
}

export function ofOne(command: Command): Command {
  return onDatabase(command).option(
    "--tenant <id>",
    "the tenant of the schedule, such as org_123 or a UUID; the nil UUID is the global tenant",
    readTenant,
    globalTenant,
  );
}

/** Describes the state of a schedule. */
export function inWords(schedule: Schedule): string {
  if (schedule.runRequested) return "run requested.";
  if (!schedule.enabled) return "disabled.";
  return schedule.nextRunAt === undefined ? "no next run." : `next run ${ago(schedule.nextRunAt)}.`;
}

/**
 * Does what `work` does with a schedule. If the tenant has no such schedule, the error names a tenant that has one,
 * because most schedules belong to a tenant, and --tenant is easily forgotten.
 */
export async function withOne<T>(
  forge: JobForge,
  type: string,
  key: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
    throw new ScheduleNotFoundError(error.message, { hint: await whereItIs(forge, type, key) });
  }
}

/** Returns the schedule. One that does not exist is an error, as in `withOne`. */
export async function requireOne(
  forge: JobForge,
  type: string,
  key: string,
  tenantId: string,
): Promise<Schedule> {
  const schedule = await forge.schedules.get(defineJob({ type }), key, { tenantId });
  if (schedule !== undefined) return schedule;
  const hint = await whereItIs(forge, type, key);
  throw new ScheduleNotFoundError(`There is no schedule ${plain(`${type} ${key}`)} of this tenant.`, {
    hint,
  });
}

async function whereItIs(forge: JobForge, type: string, key: string): Promise<string> {
  const filters = { job: defineJob({ type }), keyPrefix: key, pageSize: bounds.pageSize.max };
  // A login that may not see other tenants gets an error.
  const page = await forge.schedules
    .list(filters)
    .page()
    .catch(() => undefined);
  const found = (page?.items ?? []).filter((each) => each.key === key);
  const [first] = found;
  if (first === undefined) return "Create it with jobforge schedules add. See jobforge schedules list.";
  const { tenantId, tenantLabel } = first;
  const whose = tenantLabel === undefined ? "" : ` (${plain(tenantLabel)})`;
  const how = tenantId === globalTenant ? "Leave out --tenant" : `Pass --tenant ${tenantId}${whose}`;
  if (found.length === 1) return `Another tenant has one. ${how}.`;
  return `${count(found.length, "other tenant")} have one. ${how}, for example.`;
}
