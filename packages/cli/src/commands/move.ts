/** `jobforge move`: moves waiting jobs to Redis and back. */
import type { BullForge, MoveOptions, MovePlan } from "@jobforge/bullmq";
import { InvalidArgumentError } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, type CommonOptions, connected, onDatabase } from "../command.ts";
import { exitCodes, NoRedisError } from "../failures.ts";
import { collect, wholeNumber } from "../output/values.ts";

interface Options extends CommonOptions {
  readonly to?: string;
  readonly from?: string;
  readonly types: string[];
  readonly prefix?: string;
  readonly groups?: number;
  readonly dryRun?: boolean;
}

export function moveCommand(program: Command, cli: Cli): void {
  onDatabase(
    addCommand(program, "move", {
      summary: "Move waiting jobs to Redis, or back",
      details: [
        "Moves every waiting, delayed and retrying job of the types exactly once, with its id, while workers run.",
        "Running jobs finish where they are; run the command again for those that are retried.",
        "Jobs that need Postgres stay, such as runs of schedules and jobs with a concurrency key.",
        "If it is interrupted, run it again: it goes on where it was. Needs jobforge_operator and @jobforge/bullmq.",
      ].join(" "),
      examples: [
        "jobforge move --to redis://localhost:6379 --types mail.send,report.build --dry-run",
        "jobforge move --to redis://localhost:6379 --types mail.send,report.build",
        "jobforge move --from redis://localhost:6379 --types mail.send",
      ],
    }),
  )
    .option("--to <url>", "the Redis that gets the jobs; nodes of a cluster are separated by commas")
    .option("--from <url>", "the Redis whose jobs go to the database")
    .requiredOption("--types <types>", "the types to move, separated by commas", collect)
    .option("--prefix <text>", "the prefix of the keys in Redis (default: jobforge)")
    .option(
      "--groups <number>",
      "the number of tenant groups in Redis",
      wholeNumber("--groups", { min: 1, max: 1024 }),
    )
    .option("--dry-run", "count the jobs, and move nothing")
    .action(action(cli, (options: Options) => move(cli, options)));
}

async function move(cli: Cli, options: Options): Promise<number> {
  const { to, from, types, prefix, groups, dryRun = false } = options;
  if ((to === undefined) === (from === undefined))
    throw new InvalidArgumentError("Pass either --to or --from", {
      hint: "Such as --to redis://localhost:6379.",
    });
  const bull = await loadBull();
  return await connected(cli, options, async ({ forge }, output) => {
    const [only = "", ...others] = (to ?? from ?? "").split(",");
    const redis = others.length === 0 ? only : [only, ...others];
    await using store = new bull.BullForge({
      redis,
      ...(prefix === undefined ? {} : { prefix }),
      ...(groups === undefined ? {} : { groups }),
    });
    await requireRedis(store);
    const plan: MovePlan =
      to === undefined
        ? await bull.planToPostgres(store, { types })
        : await bull.planToRedis(forge, { types });
    if (dryRun) {
      output.result({ ...plan, moved: 0 }, () => describe(plan, "would be moved"));
      return exitCodes.ok;
    }
    const shown = output.progress("Moving");
    const moving: MoveOptions = {
      types,
      onProgress: ({ moved }) => shown.at(moved, Math.max(moved, plan.jobs)),
    };
    const { moved } =
      to === undefined
        ? await bull.moveToPostgres(forge, store, moving)
        : await bull.moveToRedis(forge, store, moving);
    shown.end();
    output.result({ ...plan, moved }, () => describe({ ...plan, jobs: moved }, "moved"));
    return exitCodes.ok;
  });
}

function describe({ jobs, left }: MovePlan, word: string): string {
  const stay = left === 0 ? "" : `; ${left} stay, because only Postgres has what they need`;
  return `${jobs} ${jobs === 1 ? "job" : "jobs"} ${word}${stay}\n`;
}

const redisTimeoutMs = 10_000;

/** The client waits for Redis for ever, as workers need it. A command says at once that it cannot be reached. */
async function requireRedis(store: BullForge): Promise<void> {
  const { client } = store.connection;
  let fail = (_: Error): void => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  client.once("error", fail);
  const late = new Error(`it did not respond within ${redisTimeoutMs / 1000} seconds`);
  const timer = setTimeout(() => fail(late), redisTimeoutMs);
  try {
    await Promise.race([store.ready(), failed]);
  } catch (error) {
    // Redis has responded if it refuses the number of groups.
    if (error instanceof InvalidArgumentError) throw error;
    throw new NoRedisError(error, "Check the URL, and check that the server is running.");
  } finally {
    clearTimeout(timer);
    client.off("error", fail);
  }
}

/** Loads @jobforge/bullmq, which is installed only by those who use Redis. */
async function loadBull(): Promise<typeof import("@jobforge/bullmq")> {
  try {
    return await import("@jobforge/bullmq");
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new InvalidArgumentError("The package @jobforge/bullmq is not installed", {
      hint: "Install it in this project, with bullmq and ioredis.",
    });
  }
}
