/** `jobforge jobs export`: writes all jobs that match filters to a file or a pipe, page by page. */
import { open } from "node:fs/promises";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Job } from "@jobforge/sdk-ts";
import { type Command, Option } from "commander";
import { action, addCommand, type Cli, type CommonOptions, connected, onDatabase } from "../command.ts";
import { fileError } from "../files.ts";
import { toJson } from "../output/output.ts";
import { count } from "../output/values.ts";
import { type FilterOptions, jobsOf, withFilters } from "./filters.ts";
import { redactor } from "./redact.ts";

const formatNames = ["ndjson", "json", "csv"] as const;
type Format = (typeof formatNames)[number];

interface ExportOptions extends CommonOptions, FilterOptions {
  readonly format?: Format;
  readonly output?: string;
}

export function exportCommand(jobs: Command, cli: Cli): void {
  const command = addCommand(jobs, "export", {
    summary: "Write all jobs that match the filters to a file or to standard output",
    details: "Payload keys that a policy redacts are not exported.",
    examples: [
      "jobforge jobs export --status dead --format csv --output dead.csv",
      "jobforge jobs export --type mail.send --created-after 7d | jq .lastError",
    ],
  });
  withFilters(onDatabase(command))
    .addOption(
      new Option(
        "--format <format>",
        "one JSON document per line, one JSON document, or a table (default: ndjson, or json with --json)",
      ).choices(formatNames),
    )
    .option("--output <file>", "the file to write (default: standard output)")
    .action(action(cli, (options: ExportOptions) => exportJobs(cli, options)));
}

async function exportJobs(cli: Cli, options: ExportOptions): Promise<undefined> {
  await connected(cli, options, async ({ forge }, output) => {
    const file = options.output === undefined ? undefined : await openFile(options.output);
    let written = 0;
    const progress = output.progress("jobs:");
    const redact = redactor(forge);
    async function* all(): AsyncGenerator<Job> {
      for await (const job of jobsOf(forge, options, 1000)) {
        yield await redact(job);
        written += 1;
        if (written % 1000 === 0) progress.at(written, written);
      }
    }
    const text = formats[options.format ?? (options.json ? "json" : "ndjson")](all());
    if (file === undefined) for await (const part of text) await output.raw(part);
    else await pipeline(Readable.from(text), file);
    progress.end();
    output.remark(`${count(written, "job")} written${options.output ? ` to ${options.output}` : ""}.`);
  });
}

/** Opens the file before any job is read, so that a wrong path fails at once. */
async function openFile(path: string): Promise<Writable> {
  try {
    return (await open(path, "w")).createWriteStream();
  } catch (error) {
    throw fileError("written", path, error);
  }
}

const formats: Readonly<Record<Format, (jobs: AsyncIterable<Job>) => AsyncGenerator<string>>> = {
  ndjson: async function* (jobs) {
    for await (const job of jobs) yield `${toJson(job)}\n`;
  },
  json: async function* (jobs) {
    let separator = "";
    yield '{"items":[';
    for await (const job of jobs) {
      yield `${separator}${toJson(job)}`;
      separator = ",";
    }
    yield '],"cursor":null}\n';
  },
  csv: async function* (jobs) {
    yield `${csvColumns.join(",")}\n`;
    for await (const job of jobs) yield `${csvColumns.map((column) => cell(job[column])).join(",")}\n`;
  },
};

const csvColumns = [
  ...([
    "id",
    "tenantId",
    "type",
    "status",
    "reason",
    "priority",
    "attempts",
    "maxAttempts",
    "subject",
  ] as const),
  ...([
    "tags",
    "createdAt",
    "runAt",
    "startedAt",
    "finishedAt",
    "lastError",
    "costCents",
    "payload",
  ] as const),
];

/** Quotes a value if needed. A spreadsheet must not interpret a text as a formula. */
function cell(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "number") return String(value);
  const plain =
    value instanceof Date ? value.toISOString() : typeof value === "string" ? value : JSON.stringify(value);
  const text = /^[=+\-@\t\r]/.test(plain) ? `'${plain}` : plain;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
