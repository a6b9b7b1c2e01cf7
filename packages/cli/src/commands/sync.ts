/** `jobforge sync`: writes what definitions say to the policies of their types. */
import type { Difference, PolicySync } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import {
  action,
  addCommand,
  type Cli,
  type CommonOptions,
  connected,
  onDatabase,
  outputOf,
} from "../command.ts";
import { exitCodes } from "../failures.ts";
import { loadHandlers, ofTypes } from "../handlers/load.ts";
import { reporting } from "../handlers/report.ts";
import { plain } from "../output/terminal.ts";
import { collect } from "../output/values.ts";

interface SyncOptions extends CommonOptions {
  readonly types?: string[];
  readonly appVersion?: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
}

export function syncCommand(program: Command, cli: Cli): void {
  withVersion(
    onDatabase(
      addCommand(program, "sync <path>", {
        summary: "Write the definitions of a file or folder of handlers to the policies of their types",
        details: [
          "Workers do the same when they start, if their login may change policies.",
          "Run it as a login with jobforge_operator when you deploy workers that may not.",
          "It writes only differences. Settings that an operator has made by hand stay until a definition changes.",
        ].join(" "),
        examples: [
          "jobforge sync ./handlers --dry-run",
          "jobforge sync ./handlers --app-version 1.4.2",
          "jobforge sync ./handlers --types mail.send --force",
        ],
      }),
    ),
  )
    .option("--types <types>", "only these types, separated by commas", collect)
    .option("--force", "also replace settings made by hand and those of newer versions")
    .option("--dry-run", "show what would change, and change nothing; workers may do this, too")
    .action(action(cli, (path: string, options: SyncOptions) => sync(cli, path, options)));
}

/** Adds the option for the version of the application. */
export function withVersion(command: Command): Command {
  return command.option(
    "--app-version <text>",
    "the version of your application, such as 1.4.2 or a commit (default: JOBFORGE_APP_VERSION)",
  );
}

/** The version of the application: the option, or the environment. An empty variable counts as none. */
export function appVersionOf(
  options: { readonly appVersion?: string },
  { env }: Cli["process"],
): string | undefined {
  return options.appVersion ?? (env["JOBFORGE_APP_VERSION"] || undefined);
}

async function sync(cli: Cli, path: string, options: SyncOptions): Promise<number> {
  const report = reporting(cli, outputOf(cli, options));
  const cwd = cli.process.cwd?.() ?? process.cwd();
  const handlers = ofTypes(await loadHandlers(path, cwd, { report }), options.types);
  return await connected(cli, options, async ({ forge }, output) => {
    const { force, dryRun } = options;
    const items = await forge.sync(
      handlers.map(({ definition }) => definition),
      { appVersion: appVersionOf(options, cli.process), force, dryRun },
    );
    output.result({ items }, () => items.map((each) => describe(each, dryRun === true)).join(""));
    return exitCodes.ok;
  });
}

function describe(synced: PolicySync, isPlan: boolean): string {
  const { type, action, changes, kept, keptBecause, version } = synced;
  const word = isPlan
    ? { created: "would be created", changed: "would change", unchanged: "unchanged" }
    : null;
  const lines = [`${plain(type)}: ${word?.[action] ?? action}`];
  for (const { key, from, to } of changes) lines.push(`  ${key}: ${shown(from)} → ${shown(to)}`);
  const why =
    keptBecause === "newer_version" ? `from the newer version ${plain(version ?? "")}` : "set by hand";
  for (const { key, from, to } of kept)
    lines.push(`  ${key}: stays ${shown(from)}, ${why}; the definition says ${shown(to)} (see --force)`);
  return `${lines.join("\n")}\n`;
}

function shown(value: Difference["from"]): string {
  return plain(JSON.stringify(value));
}
