/** Parts shared by the commands for a single schedule: the option for its tenant, and its state in words. */
import { globalTenant, type Schedule } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { type CommonOptions, onDatabase } from "../command.ts";
import { ago, readTenant } from "../output/values.ts";

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
