/** Parts shared by the commands for a single schedule: the option for its tenant, and its state in words. */
import { globalTenant, type Schedule } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { type CommonOptions, onDatabase } from "../command.ts";
import { ago } from "../output/values.ts";

export interface OneOptions extends CommonOptions {
  readonly tenant: string;
}

export function ofOne(command: Command): Command {
  return onDatabase(command).option(
    "--tenant <uuid>",
    "the tenant of the schedule; the nil UUID is the global tenant",
    globalTenant,
  );
}

/** Describes the state of a schedule. */
export function inWords(schedule: Schedule): string {
  if (schedule.runRequested) return "run requested.";
  if (!schedule.enabled) return "disabled.";
  return schedule.nextRunAt === undefined ? "no next run." : `next run ${ago(schedule.nextRunAt)}.`;
}
