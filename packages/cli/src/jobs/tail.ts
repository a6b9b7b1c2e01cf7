/** `jobforge jobs tail`: follows jobs as they are enqueued, run and finish, until Ctrl-C; or one job to its end. */
import { type Job, jobStatuses, sleep } from "@jobforge/sdk-ts";
import { type Command, Option } from "commander";
import { action, addCommand, type Cli, type CommonOptions, connected, onDatabase } from "../command.ts";
import type { Connection } from "../connection.ts";
import { exitCodes } from "../failures.ts";
import type { Output } from "../output/output.ts";
import { toneOf } from "../output/style.ts";
import { plain } from "../output/terminal.ts";
import { readSpan } from "../output/values.ts";
import { interruption } from "../process.ts";
import { attemptsOf } from "./columns.ts";
import { type FilterOptions, jobsOf, withFilters } from "./filters.ts";
import { findJob } from "./find.ts";
import { type Redact, redactor } from "./redact.ts";

interface TailOptions extends CommonOptions, FilterOptions {
  readonly every: number;
  readonly since: number;
}

/** A change becomes visible later than its timestamp, at its commit. So each poll also covers this much of the past. */
const overlapMs = 10_000;

export function tailCommand(jobs: Command, cli: Cli): void {
  const command = addCommand(jobs, "tail [id]", {
    summary: "Follow jobs as they are enqueued, run and finish",
    details: [
      "With an id, follows one job until it is finished; exit code 1 if it did not succeed.",
      "--json prints one document per line.",
    ].join(" "),
    examples: [
      "jobforge jobs tail --type mail.send --status failed,dead",
      "jobforge jobs tail --since 5m --json",
    ],
  });
  withFilters(onDatabase(command))
    .addOption(
      new Option("--every <span>", "the time between two polls").argParser(readSpan).default(1000, "1s"),
    )
    .addOption(
      new Option("--since <span>", "start with the changes in this time span before now")
        .argParser(readSpan)
        .default(0, "0s"),
    )
    .action(
      action(cli, (id: string | undefined, options: TailOptions) =>
        connected(cli, options, async (connection, output) => {
          using interrupted = interruption(cli.process);
          const printer = new Printer(output, redactor(connection.forge));
          if (id === undefined) return await followAll(connection, options, printer, interrupted.signal);
          const find = (): Promise<Job> => findJob(connection, id, options.tenant);
          return await followOne(find, options.every, printer, interrupted.signal);
        }),
      ),
    );
}

/** Prints each state of a job once. */
class Printer {
  readonly #seen = new Map<string, string>();
  readonly #output: Output;
  readonly #redact: Redact;

  constructor(output: Output, redact: Redact) {
    this.#output = output;
    this.#redact = redact;
  }

  async print(job: Job): Promise<void> {
    const state = `${job.status} ${job.attempts} ${JSON.stringify(job.progress ?? null)}`;
    if (this.#seen.get(job.id) === state) return;
    this.#seen.set(job.id, state);
    const { style } = this.#output;
    const detail =
      job.status === "queued" && job.attempts === 0 ? undefined : (job.lastError ?? progressOf(job));
    const words = [
      style("dim", job.updatedAt.toISOString()),
      job.id,
      style(toneOf(job.status), job.status.padEnd(9)),
      attemptsOf(job),
      plain(job.type),
      ...(detail === undefined ? [] : [plain(detail)]),
    ];
    this.#output.line(this.#output.json ? await this.#redact(job) : undefined, words.join(" "));
  }

  /** Forgets the jobs that are no longer polled. */
  keepOnly(ids: ReadonlySet<string>): void {
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id);
  }
}

function progressOf(job: Job): string | undefined {
  return job.status === "running" && job.progress !== undefined ? JSON.stringify(job.progress) : undefined;
}

async function followOne(
  find: () => Promise<Job>,
  everyMs: number,
  printer: Printer,
  signal: AbortSignal,
): Promise<number> {
  for (;;) {
    const job = await find();
    await printer.print(job);
    if (job.finishedAt !== undefined) return job.status === "succeeded" ? exitCodes.ok : exitCodes.failed;
    if (signal.aborted) return exitCodes.ok;
    await sleep(everyMs, signal);
  }
}

async function followAll(
  { forge, pool }: Connection,
  options: TailOptions,
  printer: Printer,
  signal: AbortSignal,
): Promise<number> {
  const [live, finished] = halves(options.status);
  // The clock of the database counts, because this machine's clock may differ.
  const clock = async (): Promise<number> => {
    const { rows } = await pool.query<{ seconds: number }>(
      "select pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) as seconds",
    );
    return (rows[0]?.seconds ?? Date.now() / 1000) * 1000;
  };
  const begin = (await clock()) - options.since;
  let since = begin;
  while (!signal.aborted) {
    const started = await clock();
    const found: Job[] = [];
    if (finished.length > 0) {
      const recent = { ...options, status: finished, finishedAfter: new Date(since) };
      for await (const job of jobsOf(forge, recent, 1000)) found.push(job);
    }
    // Each live status is read separately, because the newest jobs of a long queue would hide the few running ones.
    for (const status of live) {
      found.push(...(await jobsOf(forge, { ...options, status: [status] }, 1000).page()).items);
    }
    found.sort((a, b) => a.updatedAt.getTime() - b.updatedAt.getTime());
    for (const job of found) if (job.updatedAt.getTime() >= begin) await printer.print(job);
    printer.keepOnly(new Set(found.map((job) => job.id)));
    since = Math.max(since, started - overlapMs);
    await sleep(options.every, signal);
  }
  return exitCodes.ok;
}

/** Splits the statuses: live jobs are read newest first, finished jobs by the time they finished. */
function halves(status: readonly string[] = jobStatuses): readonly [live: string[], finished: string[]] {
  const isLive = (each: string): boolean => each === "queued" || each === "running";
  return [status.filter(isLive), status.filter((each) => !isLive(each))];
}
