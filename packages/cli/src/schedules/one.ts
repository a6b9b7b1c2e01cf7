/** What commands about one schedule share: whose it is, and how it stands. */
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
    "whose it is; without it work of no tenant",
    globalTenant,
  );
}

/** How it stands, as a sentence. */
export function inWords(schedule: Schedule): string {
  if (schedule.runRequested) return "a run was asked for.";
  if (!schedule.enabled) return "it is disabled.";
  return schedule.nextRunAt === undefined ? "no next run." : `next run ${ago(schedule.nextRunAt)}.`;
}
