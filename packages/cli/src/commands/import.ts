/** `jobforge import`: takes over the waiting jobs and the cron entries of another queue. */
import { readFile } from "node:fs/promises";
import { Argument, type Command } from "commander";
import { action, addCommand, type Cli, type CommonOptions, connected, onDatabase } from "../command.ts";
import { exitCodes, UsageError } from "../failures.ts";
import { fileError } from "../files.ts";
import { openBullmq } from "../import/bullmq.ts";
import { openGraphileWorker } from "../import/graphile-worker.ts";
import { openPgBoss } from "../import/pg-boss.ts";
import type { Mapping } from "../import/plan.ts";
import { openRiver } from "../import/river.ts";
import { importAll } from "../import/run.ts";
import { type Source, type SourceName, type SourceOptions, sourceNames } from "../import/source.ts";
import { confirm } from "../output/confirm.ts";
import { collect, count, readTenant, readText, wholeNumber } from "../output/values.ts";

interface ImportCommandOptions extends CommonOptions {
  readonly from?: string;
  readonly sourceSchema?: string;
  readonly types?: string[];
  readonly map?: ReadonlyMap<string, string>;
  readonly prefix?: string;
  readonly tenant?: string;
  readonly tenantFrom?: readonly string[];
  readonly crontab?: string;
  readonly batch: number;
  readonly keep?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const opens: Readonly<Record<SourceName, (options: SourceOptions) => Promise<Source>>> = {
  "pg-boss": openPgBoss,
  "graphile-worker": openGraphileWorker,
  bullmq: openBullmq,
  river: openRiver,
};

export function importCommand(program: Command, cli: Cli): void {
  const command = addCommand(program, "import", {
    summary: "Take over the waiting jobs and cron entries of another queue",
    details: [
      "Running, failed and finished jobs stay there. So does what cannot be imported, with its reason.",
      "In JobForge's own database each batch moves in one transaction.",
      "From another database or Redis, an interrupted import can be repeated: each job is enqueued once.",
    ].join(" "),
    examples: [
      "jobforge import pg-boss --dry-run",
      "jobforge import graphile-worker --tenant-from payload.orgId --map send_mail=mail.send --crontab crontab",
      "jobforge import bullmq --from redis://127.0.0.1:6379 --types mail.welcome,mail.digest --yes",
    ],
  }).addArgument(new Argument("<source>", "the queue to import from").choices(sourceNames));
  withMapping(withSource(onDatabase(command)))
    .option("--dry-run", "show what would be imported, and change nothing")
    .option("--keep", "leave what was imported in the source, where its workers may run it as well")
    .option(
      "--batch <number>",
      "how many jobs are moved in one transaction",
      wholeNumber("--batch", { min: 1, max: 10_000 }),
      500,
    )
    .option("--yes", "do not ask for confirmation")
    .action(action(cli, (source: SourceName, options: ImportCommandOptions) => run(cli, source, options)));
}

function withSource(command: Command): Command {
  return command
    .option(
      "--from <url>",
      "the database or Redis of the source (default: JobForge's own database)",
      readText,
    )
    .option(
      "--source-schema <name>",
      "the schema of the source's tables, or the prefix of BullMQ's keys (default: that of the source)",
      readText,
    )
    .option("--types <names>", "only jobs with these names in the source, separated by commas", collect)
    .option("--crontab <file>", "the file with the cron entries of graphile-worker", readText);
}

function withMapping(command: Command): Command {
  return command
    .option(
      "--map <old=new>",
      "the new name of a type; repeat the option or separate them by commas",
      readMap,
    )
    .option("--prefix <text>", "put this before the names of all types that --map does not name", readText)
    .option(
      "--tenant <id>",
      "the tenant of the jobs, such as org_123 or a UUID (default: the global tenant)",
      readTenant,
    )
    .option(
      "--tenant-from <path>",
      "the place of the tenant's id in the payload, such as data.orgId; --tenant is for jobs without one",
      readPath,
    );
}

async function run(cli: Cli, name: SourceName, options: ImportCommandOptions): Promise<number> {
  const { dryRun = false, keep = false, batch } = options;
  if (options.crontab !== undefined && name !== "graphile-worker")
    throw new UsageError("--crontab is for graphile-worker. Other sources have no such file.");
  const crontab = options.crontab === undefined ? undefined : await readCrontabFile(options.crontab);
  return await connected(cli, options, async ({ forge, url }, output) => {
    const { from, sourceSchema: schema, types } = options;
    await forge.installation.health();
    const readOnly = dryRun || keep;
    await using source = await opens[name]({ from, databaseUrl: url, schema, types, crontab, readOnly });
    const { waiting } = await source.census();
    if (!dryRun)
      await confirm(
        `This ${keep ? "copies" : "moves"} ${count(waiting, "job")} from ${name}.`,
        options.yes,
        cli.process,
      );
    const progress = output.progress(`${name}:`);
    const onProgress = (done: number): void => progress.at(done, Math.max(done, waiting));
    const report = await importAll(forge, source, mappingOf(name, options), {
      dryRun,
      keep,
      batch,
      onProgress,
    }).finally(progress.end);
    report.print(output, { source: name, dryRun });
    return report.hasRefusals ? exitCodes.failed : exitCodes.ok;
  });
}

function mappingOf(source: SourceName, { map, prefix, tenant, tenantFrom }: ImportCommandOptions): Mapping {
  return { source, map: map ?? new Map(), prefix: prefix ?? "", tenant, tenantFrom };
}

async function readCrontabFile(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw fileError("read", path, error);
  }
}

function readMap(given: string, before: ReadonlyMap<string, string> = new Map()): Map<string, string> {
  const map = new Map(before);
  for (const pair of collect(given, [])) {
    const [, old, renamed] = /^([^=]+)=([^=]+)$/.exec(pair) ?? [];
    if (old === undefined || renamed === undefined)
      throw new UsageError(`--map "${pair}" is not a pair of names. Use a form such as send_mail=mail.send.`);
    map.set(old.trim(), renamed.trim());
  }
  return map;
}

/** The words by which the sources call a payload. */
const payloadWords = ["payload", "data", "args"];

function readPath(given: string): string[] {
  const [first = "", ...path] = given.split(".");
  if (!payloadWords.includes(first) || path.length === 0 || path.includes(""))
    throw new UsageError(
      `--tenant-from "${given}" is not a place in a payload. Use a form such as data.orgId.`,
    );
  return path;
}
