/** `jobforge webhooks deliveries` and `replay`: the deliveries of an endpoint, which are jobs. */
import { bounds, type DeliveryFilters, type JobStatus, type WebhookDelivery } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, connected } from "../command.ts";
import { exitCodes } from "../failures.ts";
import { attemptsOf, whenOf } from "../jobs/columns.ts";
import { retryable } from "../jobs/filters.ts";
import { redactor } from "../jobs/redact.ts";
import { confirm } from "../output/confirm.ts";
import { toneOf } from "../output/style.ts";
import type { Column } from "../output/table.ts";
import { collect, readText, readTime, wholeNumber } from "../output/values.ts";
import { endpointOf, type OfTenant, ofTenant } from "./one.ts";

interface FilterOptions extends OfTenant {
  readonly status?: string[];
  readonly event?: string[];
  readonly error?: string;
  readonly createdAfter?: Date;
  readonly createdBefore?: Date;
  readonly finishedAfter?: Date;
  readonly finishedBefore?: Date;
}

const columns: readonly Column<WebhookDelivery>[] = [
  // Never cut: other commands take the whole id.
  { title: "id", value: ({ id }) => id, tone: () => "dim", cut: "start" },
  { title: "event", value: ({ tags }) => tags[0], shrinks: true },
  { title: "status", value: ({ status }) => status, tone: ({ status }) => toneOf(status) },
  {
    title: "attempts",
    value: attemptsOf,
    align: "right",
    shrinks: "away",
  },
  { title: "when", value: whenOf, shrinks: "away" },
  { title: "error", value: ({ lastError }) => lastError, shrinks: "first", least: 24, tone: () => "red" },
];

interface ListOptions extends FilterOptions {
  readonly limit: number;
  readonly cursor?: string;
}

export function deliveriesCommand(webhooks: Command, cli: Cli): void {
  const command = addCommand(webhooks, "deliveries <id>", {
    summary: "List the deliveries of an endpoint, newest first",
    details: "A delivery is a job, so jobforge jobs show has its attempts and the response.",
    examples: ["jobforge webhooks deliveries 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10 --status failed,dead"],
  });
  withFilters(ofTenant(command), "with this status")
    .option(
      "--limit <number>",
      "the number of deliveries per page",
      wholeNumber("--limit", bounds.pageSize),
      50,
    )
    .option("--cursor <cursor>", "continue after a page")
    .action(
      action(cli, (id: string, options: ListOptions) =>
        connected(cli, options, async ({ forge }, output) => {
          const filters = { ...filtersOf(options), pageSize: options.limit };
          const page = await forge.webhooks.deliveries(endpointOf(id, options), filters).page(options.cursor);
          // The table shows no payloads.
          const items = output.json ? await Promise.all(page.items.map(redactor(forge))) : page.items;
          output.list(items, columns, { empty: "No deliveries.", cursor: page.cursor });
          return exitCodes.ok;
        }),
      ),
    );
}

interface ReplayOptions extends FilterOptions {
  readonly limit: number;
  readonly yes?: boolean;
}

export function replayCommand(webhooks: Command, cli: Cli): void {
  const command = addCommand(webhooks, "replay <id>", {
    summary: "Deliver again what failed, or what the filters select",
    details: "The receiver gets the same webhook-id, so that it can recognize what it has seen.",
    examples: [
      "jobforge webhooks replay 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10 --yes",
      "jobforge webhooks replay 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10 --status succeeded --finished-after 2h",
    ],
  });
  withFilters(ofTenant(command), "with this status (default: failed, dead)")
    .option(
      "--limit <number>",
      "the most deliveries to replay",
      wholeNumber("--limit", bounds.bulkLimit),
      bounds.bulkLimit.default,
    )
    .option("--yes", "do not ask for confirmation")
    .action(action(cli, (id: string, options: ReplayOptions) => replay(cli, id, options)));
}

async function replay(cli: Cli, id: string, options: ReplayOptions): Promise<number> {
  const reference = endpointOf(id, options);
  const { limit } = options;
  const filters = { ...filtersOf(options), status: statusesOf(options) ?? retryable };
  return await connected(cli, options, async ({ forge }, output) => {
    await forge.webhooks.get(reference);
    const counts = await forge.jobs.count({
      ...filters,
      tenantId: reference.tenantId,
      type: "connector.webhook.deliver",
      subject: id.toLowerCase(),
    });
    const found = counts.reduce((sum, { jobs }) => sum + jobs, 0);
    if (found > 0)
      await confirm(`This sends ${deliveries(Math.min(found, limit))} again.`, options.yes, cli.process);
    const { matched, replayed } = await forge.webhooks.replay(reference, { ...filters, limit });
    const left = matched - replayed;
    output.result({ matched, replayed }, () =>
      matched === 0
        ? "No deliveries match.\n"
        : `${deliveries(replayed)} sent again.${left === 0 ? "" : ` Not sent: ${deliveries(left)}.`}\n`,
    );
    return left === 0 ? exitCodes.ok : exitCodes.failed;
  });
}

function deliveries(number: number): string {
  return number === 1 ? "1 delivery" : `${number.toLocaleString("en")} deliveries`;
}

function withFilters(command: Command, status: string): Command {
  const time = (given: string): Date => readTime(given, "back");
  return command
    .option("--status <status>", `deliveries ${status}; repeat it or separate values by commas`, collect)
    .option("--event <type>", "deliveries of this event, such as job.dead", collect)
    .option("--error <text>", "deliveries whose error contains this text", readText)
    .option("--created-after <time>", "a time, or a time span such as 2h", time)
    .option("--created-before <time>", "a time, or a time span such as 2h", time)
    .option("--finished-after <time>", "a time, or a time span such as 2h", time)
    .option("--finished-before <time>", "a time, or a time span such as 2h", time);
}

/** The client rejects an unknown status and lists the valid ones. */
function statusesOf({ status }: FilterOptions): readonly JobStatus[] | undefined {
  return status as readonly JobStatus[] | undefined;
}

function filtersOf(options: FilterOptions): DeliveryFilters {
  const { event: tags, error: errorContains } = options;
  const { createdAfter, createdBefore, finishedAfter, finishedBefore } = options;
  const times = { createdAfter, createdBefore, finishedAfter, finishedBefore };
  return { status: statusesOf(options), tags, errorContains, ...times };
}
