/** `jobforge enqueue`: enqueues one job. */
import {
  bounds,
  type DedupeMode,
  dedupeModes,
  defineJob,
  globalTenant,
  type JobForge,
  type NotifyOptions,
  type NotifyStatus,
  notifyStatuses,
  WaitTimeoutError,
} from "@jobforge/sdk-ts";
import { type Command, Option } from "commander";
import {
  action,
  addCommand,
  type Cli,
  type CommonOptions,
  connected,
  onDatabase,
  outputOf,
} from "../command.ts";
import { CommandError, exitCodes, UsageError } from "../failures.ts";
import { readPayload } from "../jobs/payload.ts";
import {
  choice,
  collect,
  readSpan,
  readTenant,
  readText,
  readTime,
  span,
  wholeNumber,
} from "../output/values.ts";
import { isId } from "../webhooks/one.ts";

interface EnqueueOptions extends CommonOptions {
  readonly tenant: string;
  readonly runAt?: Date;
  readonly in?: number;
  readonly expiresAt?: Date;
  readonly priority?: number;
  readonly maxAttempts?: number;
  readonly idempotencyKey?: string;
  readonly dedupeKey?: string;
  readonly dedupeMode?: DedupeMode;
  readonly concurrencyKey?: string;
  readonly subject?: string;
  readonly tag?: string[];
  readonly notify?: string;
  readonly notifySecret?: string;
  readonly notifyOn?: string[];
  readonly wait?: number | true;
}

export function enqueueCommand(program: Command, cli: Cli): void {
  onDatabase(
    addCommand(program, "enqueue <type> [payload]", {
      summary: "Enqueue a job",
      details: "The payload is JSON. @file reads it from a file, - reads it from standard input.",
      examples: [
        `jobforge enqueue mail.send '{"to": "ada@example.com"}'`,
        "jobforge enqueue report.build @report.json --in 2h --priority 5",
        "jobforge enqueue mail.send '{}' --tenant 11111111-1111-4111-8111-111111111111 --wait",
        "jobforge enqueue report.build --notify https://example.com/done --notify-on failed,dead",
      ],
    }),
  )
    .option(
      "--tenant <id>",
      "the tenant of the job, such as org_123 or a UUID; the nil UUID is the global tenant",
      readTenant,
      globalTenant,
    )
    .option("--run-at <time>", "when to run it, such as 2026-01-31T12:00:00Z", (given) =>
      readTime(given, "ahead"),
    )
    .option("--in <span>", "run it after a time span such as 90s, 15m, 2h or 7d", readSpan)
    .option(
      "--expires-at <time>",
      "do not start it after this time, or after a time span such as 2h",
      (given) => readTime(given, "ahead"),
    )
    .option(
      "--priority <number>",
      "jobs with a higher priority run first",
      wholeNumber("--priority", bounds.priority),
    )
    .option(
      "--max-attempts <number>",
      "the total number of executions",
      wholeNumber("--max-attempts", bounds.maxAttempts),
    )
    .option("--idempotency-key <key>", "enqueue it only once, for as long as the job is stored")
    .option("--dedupe-key <key>", "allow only one queued or running job with this key")
    .option("--dedupe-mode <mode>", `what happens to a queued job with the same key: ${choice(dedupeModes)}`)
    .option("--concurrency-key <key>", "the key by which concurrency limits count it")
    .option("--subject <text>", "what the job is about")
    .option("--tag <tag>", "tags; repeat the option or separate them by commas", collect)
    .option("--notify <receiver>", "tell this URL or endpoint by a webhook how the job ended", readText)
    .option("--notify-secret <name>", "the name of the secret that signs webhooks to the URL", readText)
    .option("--notify-on <status>", `the ends to tell about: ${choice(notifyStatuses)}`, collect)
    .option(
      "--wait [span]",
      "wait until it is finished, up to this time span (default: 60s), and show its result",
      readSpan,
    )
    .addOption(
      new Option("--timeout <span>").hideHelp().argParser((given) => {
        throw new UsageError(`--timeout is not an option. Pass the time to --wait: --wait ${given}.`);
      }),
    )
    .addOption(
      new Option("--payload <json>").hideHelp().argParser((given) => {
        throw new UsageError(`--payload is not an option. Write the payload after the type: '${given}'.`);
      }),
    )
    .addOption(
      new Option("--delay <span>").hideHelp().argParser((given) => {
        throw new UsageError(`--delay is not an option. Use --in ${given}.`);
      }),
    )
    .action(
      action(cli, (type: string, payload: string | undefined, options: EnqueueOptions) =>
        enqueue(cli, type, payload, options),
      ),
    );
}

async function enqueue(
  cli: Cli,
  type: string,
  given: string | undefined,
  options: EnqueueOptions,
): Promise<number> {
  if (options.runAt !== undefined && options.in !== undefined)
    throw new UsageError("Pass either --run-at or --in, not both.");
  if (options.dedupeKey === undefined && options.dedupeMode !== undefined)
    throw new UsageError(`--dedupe-mode ${options.dedupeMode} needs --dedupe-key.`);
  const notify = notifyOf(options);
  const payload = await readPayload(cli, given);
  return await connected(cli, options, async ({ forge }, output) => {
    const definition = defineJob({ type });
    const { tenant: tenantId, runAt, in: delayMs, tag: tags, wait, ...rest } = options;
    const { expiresAt, priority, maxAttempts, idempotencyKey, dedupeKey, dedupeMode } = rest;
    const { concurrencyKey, subject } = rest;
    const job = await forge.enqueue(definition, payload, {
      ...{ tenantId, runAt, delayMs, expiresAt, priority, maxAttempts, idempotencyKey },
      ...{ dedupeKey, dedupeMode, concurrencyKey, subject, tags, notify },
    });
    if (wait !== undefined) return await awaitEnd(cli, forge, job, options);
    const { id, outcome } = job;
    output.result({ id, tenantId, type, outcome }, () => `${id} ${output.style("green", outcome)}\n`);
    return exitCodes.ok;
  });
}

/** Returns whom a webhook tells about the end of the job. The client rejects an unknown status. */
function notifyOf({ notify, notifySecret, notifyOn }: EnqueueOptions): NotifyOptions | undefined {
  if (notify === undefined) {
    if (notifySecret !== undefined || notifyOn !== undefined)
      throw new UsageError("--notify-secret and --notify-on need --notify.");
    return undefined;
  }
  return {
    ...(isId(notify) ? { endpointId: notify } : { url: notify }),
    ...(notifySecret === undefined ? {} : { secret: { $secret: notifySecret } }),
    ...(notifyOn === undefined ? {} : { on: notifyOn as NotifyStatus[] }),
  };
}

/** Waits until the job is finished and prints its result. Exit code 1 if it did not succeed. */
async function awaitEnd(
  cli: Cli,
  forge: JobForge,
  job: { readonly id: string; readonly outcome: string },
  options: EnqueueOptions,
): Promise<number> {
  const output = outputOf(cli, options);
  const { id } = job;
  const timeoutMs = options.wait === true || options.wait === undefined ? 60_000 : options.wait;
  output.remark(`${id} ${job.outcome}; waiting until it is finished …`);
  const result = await forge
    .result(id, { tenantId: options.tenant, timeoutMs })
    .catch(async (error: unknown) => {
      if (!(error instanceof WaitTimeoutError)) throw error;
      const [reason] = (await forge.explain(id, { tenantId: options.tenant })) ?? [];
      throw new CommandError(
        "wait_timeout",
        `Job ${id} did not finish within ${span(timeoutMs)}.${reason === undefined ? "" : ` ${reason.message}.`}`,
        `It is still queued or running. To follow it: jobforge jobs tail ${id}`,
      );
    });
  output.result({ id, tenantId: options.tenant, outcome: job.outcome, status: "succeeded", result }, () =>
    result === undefined || result === null ? "succeeded\n" : `${JSON.stringify(result, null, 2)}\n`,
  );
  return exitCodes.ok;
}
