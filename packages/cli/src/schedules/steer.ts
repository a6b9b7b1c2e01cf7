/** `jobforge schedules enable`, `disable` and `run`: steer one schedule. */
import { defineJob, type JobForge, type Schedule } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, connected } from "../command.ts";
import { exitCodes } from "../failures.ts";
import { redactor } from "../jobs/redact.ts";
import { inWords, type OneOptions, ofOne, withOne } from "./one.ts";

interface Steer {
  readonly name: string;
  readonly summary: string;
  readonly apply: (
    schedules: JobForge["schedules"],
    ...which: Parameters<JobForge["schedules"]["enable"]>
  ) => Promise<Schedule>;
}

const steers: readonly Steer[] = [
  {
    name: "enable",
    summary: "Enable a schedule, so that it runs again",
    apply: (schedules, ...which) => schedules.enable(...which),
  },
  {
    name: "disable",
    summary: "Disable a schedule; a run that has started ends as usual",
    apply: (schedules, ...which) => schedules.disable(...which),
  },
  {
    name: "run",
    summary: "Request a run now, in addition to the next one",
    apply: (schedules, ...which) => schedules.run(...which),
  },
];

export function steerCommands(schedules: Command, cli: Cli): void {
  for (const steer of steers) steerCommand(schedules, cli, steer);
}

function steerCommand(schedules: Command, cli: Cli, { name, summary, apply }: Steer): void {
  const command = addCommand(schedules, `${name} <type> <key>`, {
    summary,
    examples: [`jobforge schedules ${name} report.build weekly`],
  });
  ofOne(command).action(
    action(cli, (type: string, key: string, options: OneOptions) =>
      connected(cli, options, async ({ forge }, output) => {
        const { tenant: tenantId } = options;
        const schedule = await withOne(forge, type, key, () =>
          apply(forge.schedules, defineJob({ type }), key, { tenantId }),
        );
        output.result(await redactor(forge)(schedule), () => `${type} ${key}: ${inWords(schedule)}\n`);
        return exitCodes.ok;
      }),
    ),
  );
}
