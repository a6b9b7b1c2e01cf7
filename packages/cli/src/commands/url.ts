/** `jobforge url`: prints the URL of the database that `jobforge dev` runs, for scripts. */
import { join } from "node:path";
import type { Command } from "commander";
import { action, addCommand, type Cli, outputOf } from "../command.ts";
import { dataFolder } from "../connection.ts";
import { loadEmbedded } from "../dev/embedded.ts";
import { exitCodes, NotFoundError } from "../failures.ts";

interface UrlOptions {
  readonly json?: boolean;
  readonly directory?: string;
}

export function urlCommand(program: Command, cli: Cli): void {
  addCommand(program, "url", {
    summary: "Print the URL of the embedded database that jobforge dev runs in this directory",
    details: "The URL contains the password. It is meant for scripts and programs on this machine.",
    examples: ["jobforge url", "jobforge url --directory ../api/.jobforge"],
  })
    .option("--directory <path>", "the directory of the embedded database (default: .jobforge)")
    .action(action(cli, (options: UrlOptions) => printUrl(cli, options)));
}

async function printUrl(cli: Cli, options: UrlOptions): Promise<number> {
  const directory = options.directory ?? join(cli.process.cwd?.() ?? process.cwd(), dataFolder);
  const url = (await loadEmbedded())?.findEmbedded({ directory })?.url;
  if (url === undefined)
    throw new NotFoundError(`No embedded database runs in ${directory}. Start one: jobforge dev`);
  outputOf(cli, options).result({ url }, () => `${url}\n`);
  return exitCodes.ok;
}
