/** `jobforge jobs cancel` and `jobforge jobs retry`: change one job by its id, or many by filters. */
import { type JobForge, NotCancelableError, NotReschedulableError } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, type CommonOptions, connected, onDatabase } from "../command.ts";
import type { Connection } from "../connection.ts";
import { CommandError, exitCodes, UsageError } from "../failures.ts";
import type { Output } from "../output/output.ts";
import { plain } from "../output/terminal.ts";
import { ago, readTime } from "../output/values.ts";
import { type BulkWork, changeMany, requireFilter } from "./bulk.ts";
import {
  areRetryable,
  type FilterOptions,
  filtersOf,
  hasFilters,
  retryable,
  withFilters,
} from "./filters.ts";
import { findJob } from "./find.ts";
import { obstaclesOf } from "./obstacles.ts";

interface SteerOptions extends CommonOptions, FilterOptions {
  readonly yes?: boolean;
  readonly all?: boolean;
  readonly at?: Date;
}

export function cancelCommand(jobs: Command, cli: Cli): void {
  steerCommand(
    jobs,
    "cancel [id]",
    "Cancel a job, or many by filters",
    "Queued jobs are canceled at once, running jobs when their run ends.",
    [
      "jobforge jobs cancel 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10",
      "jobforge jobs cancel --type mail.send --status queued --yes",
    ],
  ).action(
    action(cli, (id: string | undefined, options: SteerOptions) =>
      steer(cli, id, options, cancelOne, (forge) => ({
        change: "cancel",
        verb: "cancels",
        done: "canceled or asked to stop",
        apply: (filters) => forge.cancelMany(filters),
      })),
    ),
  );
}

export function retryCommand(jobs: Command, cli: Cli): void {
  steerCommand(
    jobs,
    "retry [id]",
    "Run a queued, failed or dead job now, or many failed and dead jobs by filters",
    "A failed or dead job gets its full number of executions again.",
    [
      "jobforge jobs retry 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10",
      "jobforge jobs retry --type mail.send --finished-after 1h",
    ],
  )
    .option("--at <time>", "run it at this time instead of now; only for a single job", (given) =>
      readTime(given, "ahead"),
    )
    .action(
      action(cli, (id: string | undefined, options: SteerOptions) => {
        const status = options.status ?? retryable;
        // A queued job stays queued, so a filter that matches it would match it in every batch.
        if (id === undefined && !areRetryable(status))
          throw new UsageError("Only failed and dead jobs can be retried by filters: --status failed,dead.");
        if (id === undefined && options.at !== undefined)
          throw new UsageError("--at is only for a single job, given by its id.");
        const chosen = id === undefined ? { ...options, status } : options;
        return steer(cli, id, chosen, retryOne, (forge) => retrying(forge), options);
      }),
    );
}

export function retrying(forge: JobForge): BulkWork {
  return {
    change: "reschedule",
    verb: "retries",
    done: "queued again",
    apply: (filters) => forge.rescheduleMany(filters),
  };
}

function steerCommand(
  jobs: Command,
  usage: string,
  summary: string,
  details: string,
  examples: readonly string[],
): Command {
  return withFilters(onDatabase(addCommand(jobs, usage, { summary, details, examples })))
    .option("--all", "all jobs, if no filter is given")
    .option("--yes", "do not ask for confirmation");
}

type One = (connection: Connection, output: Output, id: string, options: SteerOptions) => Promise<void>;

/** `asked` holds the options as the user typed them, before defaults were filled in. */
async function steer(
  cli: Cli,
  id: string | undefined,
  options: SteerOptions,
  one: One,
  many: (forge: JobForge) => BulkWork,
  asked: SteerOptions = options,
): Promise<number> {
  if (id === undefined) requireFilter(asked, options.all);
  else if (hasFilters(asked)) throw new UsageError("Pass either the id of a job or filters, not both.");
  return await connected(cli, options, async (connection, output) => {
    if (id === undefined)
      return await changeMany(
        cli,
        output,
        connection.forge,
        many(connection.forge),
        filtersOf(options),
        options,
      );
    await one(connection, output, id, options);
    return exitCodes.ok;
  });
}

const cancelOne: One = async (connection, output, id, options) => {
  const { tenantId } = await findJob(connection, id, options.tenant);
  const canceled = await connection.forge
    .cancel(id, { tenantId })
    .catch((error: unknown) => refused(connection, error, id, tenantId));
  output.result(canceled, () =>
    canceled.status === "canceled" ? `${id} is canceled.\n` : `${id} is running and was asked to stop.\n`,
  );
};

const retryOne: One = async (connection, output, id, options) => {
  const { tenantId } = await findJob(connection, id, options.tenant);
  const queued = await connection.forge
    .reschedule(id, { tenantId, runAt: options.at })
    .catch((error: unknown) => refused(connection, error, id, tenantId));
  const obstacles = await obstaclesOf(connection.forge, id, tenantId);
  output.result({ ...queued, obstacles }, () => {
    const when = queued.runAt.getTime() > Date.now() ? `runs ${ago(queued.runAt)}` : "runs now";
    return obstacles.length === 0
      ? `${id} is queued and ${when}.\n`
      : `${id} is queued, but cannot start:\n${obstacles.map(({ message }) => `  ${plain(message)}\n`).join("")}`;
  });
};

/** Says why a job cannot be canceled or retried: the kernel refuses it, and the job shows its status. */
async function refused(connection: Connection, error: unknown, id: string, tenantId: string): Promise<never> {
  const verb = error instanceof NotCancelableError ? "canceled" : "retried";
  if (!(error instanceof NotCancelableError || error instanceof NotReschedulableError)) throw error;
  const { status, finishedAt } = await findJob(connection, id, tenantId);
  const state = finishedAt === undefined ? status : `already finished: ${status} ${ago(finishedAt)}`;
  throw new CommandError(
    error.kind ?? "refused",
    `${id} cannot be ${verb}. It is ${state}.`,
    error.hint ?? "",
  );
}
