/** Runs `connector.report.generate`: one pass over the rows, into every format at once. */
import type { ArtifactStore, JobContext, JobHandler } from "@jobforge/sdk-ts";
import { requireOwner } from "../artifacts/store.ts";
import { ConnectorError } from "../errors.ts";
import { endFailed } from "../retries.ts";
import type { ReportDefinition, ReportRow } from "./define-report.ts";
import { type ReportColumn, type ReportRequest, type ReportResult, reportGenerate } from "./definition.ts";
import { Sink } from "./sink.ts";
import { type ReportFacts, type ReportWriter, writers } from "./writers.ts";

/** What a result contains itself, in total. */
const maxInlineBytes = 100_000;
const progressEvery = 5000;
/** The longest line of an artifact with rows. */
const maxLineBytes = 1_048_576;

export function reportHandler(artifacts: ArtifactStore, reports: readonly ReportDefinition[]): JobHandler {
  const known = new Map(reports.map((report) => [report.name, report]));
  return reportGenerate.handle(async (input, job) => {
    try {
      return await generate(artifacts, known, input, job);
    } catch (error) {
      return await endFailed(job, error);
    }
  });
}

async function generate(
  artifacts: ArtifactStore,
  known: ReadonlyMap<string, ReportDefinition>,
  input: ReportRequest,
  job: JobContext,
): Promise<ReportResult> {
  const named = known.get(input.report_type);
  if (named === undefined && input.report_type !== "rows")
    throw new ConnectorError(
      "invalid_payload",
      `There is no report ${input.report_type}. Known reports: ${[...known.keys()].join(", ")}.`,
    );
  // Rows of the payload replace those of the report, and its columns with them.
  const hasRows = input.rows !== undefined || input.inputs_ref !== undefined;
  const definition = hasRows ? undefined : named;
  const [first, rows] = await peeked(source(artifacts, definition, input, job));
  const title = input.options.title ?? named?.title ?? "Report";
  const facts: ReportFacts = {
    title,
    generatedAt: new Date().toISOString(),
    columns: columnsOf(input, definition, first),
    bom: input.options.bom,
    raw: input.options.raw,
    chart: input.options.chart ?? definition?.chart,
  };
  const outputs = input.formats.map((format) => {
    const writer = writers[format](facts);
    const key = `reports/${job.tenantId}/${job.id}/${input.report_type}.${format}`;
    const inline = Math.floor(maxInlineBytes / input.formats.length);
    return { format, writer, sink: new Sink(artifacts, key, writer.contentType, inline, job.signal) };
  });
  try {
    const { count, truncated } = await write(outputs, rows, input.options.limit, job);
    const written = await Promise.all(
      outputs.map(async ({ format, sink }) => ({ format, ...(await sink.end()) })),
    );
    return {
      report_type: input.report_type,
      rows: count,
      truncated,
      formats: written.map(({ text: _, ...each }) => each),
      ...Object.fromEntries(
        written.flatMap(({ format, text }) => (text === undefined ? [] : [[`report_${format}`, text]])),
      ),
      artifact_ref: written.find(({ ref }) => ref !== undefined)?.ref,
      metadata: { title, generated_at: facts.generatedAt },
    };
  } catch (error) {
    const reason = error instanceof Error ? error : new Error("The report failed");
    for (const { sink } of outputs) sink.abandon(reason);
    throw error;
  }
}

async function write(
  outputs: readonly { readonly writer: ReportWriter; readonly sink: Sink }[],
  rows: AsyncIterable<ReportRow>,
  limit: number,
  job: JobContext,
): Promise<{ readonly count: number; readonly truncated: boolean }> {
  let count = 0;
  let truncated = false;
  for (const { writer, sink } of outputs) await sink.write(writer.head());
  for await (const row of rows) {
    if (count === limit) {
      truncated = true;
      break;
    }
    for (const { writer, sink } of outputs) await sink.write(writer.row(row, count));
    count += 1;
    if (count % progressEvery === 0) {
      job.signal.throwIfAborted();
      await job.progress({ rows: count });
    }
  }
  for (const { writer, sink } of outputs) await sink.write(writer.tail(count));
  return { count, truncated };
}

async function* source(
  artifacts: ArtifactStore,
  definition: ReportDefinition | undefined,
  input: ReportRequest,
  job: JobContext,
): AsyncGenerator<ReportRow> {
  const { tenantId, signal } = job;
  if (definition !== undefined)
    for await (const row of definition.rows({ tenantId, params: input.params, signal, job }))
      yield row as ReportRow;
  else if (input.rows !== undefined) yield* input.rows;
  else if (input.inputs_ref !== undefined)
    yield* objectsOf(await artifacts.get(requireOwner(input.inputs_ref, tenantId), signal));
  else throw new ConnectorError("invalid_payload", "A report needs rows, inputs_ref or a report_type.");
}

/** The objects of an artifact, one per line. A line without an end must not fill the memory. */
async function* objectsOf(content: AsyncIterable<Buffer>): AsyncGenerator<ReportRow> {
  let number = 0;
  for await (const line of linesOf(content)) {
    number += 1;
    if (line.trim() !== "") yield parsed(line, number);
  }
}

async function* linesOf(content: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let kept: Buffer[] = [];
  let length = 0;
  for await (const chunk of content) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      yield Buffer.concat([...kept, chunk.subarray(start, end)]).toString("utf8");
      kept = [];
      length = 0;
      start = end + 1;
    }
    kept.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > maxLineBytes)
      throw new ConnectorError("invalid_payload", `The artifact has a line over ${maxLineBytes} bytes.`);
  }
  yield Buffer.concat(kept).toString("utf8");
}

function parsed(line: string, number: number): ReportRow {
  try {
    const row: unknown = JSON.parse(line);
    if (typeof row === "object" && row !== null && !Array.isArray(row)) return row as ReportRow;
  } catch {
    // Reported below.
  }
  throw new ConnectorError("invalid_payload", `Line ${number} of the artifact is not a JSON object.`);
}

/** The first row, from which columns are taken that nothing else names, and all rows. */
async function peeked(
  rows: AsyncGenerator<ReportRow>,
): Promise<readonly [ReportRow | undefined, AsyncIterable<ReportRow>]> {
  const first = await rows.next();
  const all = async function* (): AsyncGenerator<ReportRow> {
    if (first.done) return;
    yield first.value;
    yield* rows;
  };
  return [first.done ? undefined : first.value, all()];
}

function columnsOf(
  input: ReportRequest,
  definition: ReportDefinition | undefined,
  first: ReportRow | undefined,
): readonly ReportColumn[] {
  if (input.columns !== undefined) return input.columns;
  const columns = definition?.columns ?? Object.keys(first ?? {}).map((key) => ({ key }));
  return columns.map((column) => ({ type: "text", ...column }));
}
