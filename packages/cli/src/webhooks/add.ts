/** `jobforge webhooks add`: creates an endpoint. */
import {
  type NewEndpointOptions,
  type WebhookFormat,
  type WebhookPart,
  type WebhookSignature,
  webhookFormats,
  webhookParts,
  webhookSignatures,
} from "@jobforge/sdk-ts";
import { type Command, Option } from "commander";
import { action, addCommand, type Cli, connected } from "../command.ts";
import { exitCodes, UsageError } from "../failures.ts";
import { choice, collect, readSpan, readText } from "../output/values.ts";
import { collectHeader, type Headers } from "./headers.ts";
import { asArguments, type OfTenant, ofTenant } from "./one.ts";

interface AddOptions extends OfTenant {
  readonly description?: string;
  readonly event?: string[];
  readonly jobType?: string[];
  readonly tag?: string[];
  readonly include?: string[];
  readonly format?: WebhookFormat;
  readonly signature?: WebhookSignature;
  readonly header?: Headers;
  readonly secretHeader?: Headers;
  readonly ordered?: boolean;
  readonly retryAfter?: string[];
  readonly masterKey?: string;
}

const severalTimes = "repeat it or separate values by commas";

export function addEndpointCommand(webhooks: Command, cli: Cli): void {
  const command = addCommand(webhooks, "add <url>", {
    summary: "Create an endpoint, which gets the events of jobs that end from now on",
    examples: [
      "jobforge webhooks add https://example.com/hooks --tenant org_123",
      "jobforge webhooks add https://example.com/hooks --event job.dead,invoice.* --job-type report.*",
    ],
  });
  ofTenant(command)
    .option("--description <text>", "what the endpoint is for", readText)
    .option("--event <type>", `the events, such as job.dead, job.* or invoice.*; ${severalTimes}`, collect)
    .option("--job-type <type>", `only jobs of this type, such as mail.*; ${severalTimes}`, collect)
    .option("--tag <tag>", `only jobs with this tag; ${severalTimes} to require all`, collect)
    .option("--include <part>", `what else events of jobs contain: ${choice(webhookParts)}`, collect)
    .addOption(new Option("--format <format>", "how the body is written").choices(webhookFormats))
    .addOption(new Option("--signature <kind>", "how deliveries are signed").choices(webhookSignatures))
    .option("--header <line>", 'a header of each delivery, such as "x-team: blue"; repeatable', collectHeader)
    .option(
      "--secret-header <line>",
      'a header whose value is a secret of the workers, such as "authorization: ACME_TOKEN"; repeatable',
      collectHeader,
    )
    .option("--ordered", "one delivery at a time, in the order of the events")
    .option("--retry-after <span>", `the waits after failures; the last repeats; ${severalTimes}`, collect)
    .option(
      "--master-key <name>",
      "the master key that its keys are derived from (default: default)",
      readText,
    )
    .action(action(cli, (url: string, options: AddOptions) => add(cli, url, options)));
}

async function add(cli: Cli, url: string, options: AddOptions): Promise<number> {
  const settings = settingsOf(url, options);
  return await connected(cli, options, async ({ forge }, output) => {
    const endpoint = await forge.webhooks.create(options.tenant, settings);
    output.result(endpoint, () => `${endpoint.id} ${output.style("green", "created")}\n`);
    if (/^http:/i.test(endpoint.url))
      output.remark("Workers deliver over https only, unless their egress policy has allow_http.");
    output.remark(`Its receiver verifies with: jobforge webhooks secret ${asArguments(endpoint)}`);
    return exitCodes.ok;
  });
}

function settingsOf(url: string, options: AddOptions): NewEndpointOptions {
  const { description, event: events, jobType: jobTypes, tag: tags, format, signature } = options;
  const { ordered, masterKey, retryAfter } = options;
  return {
    ...{ url, description, events, jobTypes, tags, format, signature, ordered, masterKey },
    include: options.include?.map(readPart),
    headers: headersOf(options),
    retrySchedule: retryAfter?.map((each) => Math.ceil(readSpan(each) / 1000)),
  };
}

function headersOf({ header, secretHeader }: AddOptions): NewEndpointOptions["headers"] {
  if (header === undefined && secretHeader === undefined) return undefined;
  const secrets = Object.entries(secretHeader ?? {}).map(([name, $secret]) => [name, { $secret }] as const);
  return { ...header, ...Object.fromEntries(secrets) };
}

function readPart(given: string): WebhookPart {
  const found = webhookParts.find((each) => each === given);
  if (found === undefined) throw new UsageError(`--include must be ${choice(webhookParts)}, not "${given}".`);
  return found;
}
