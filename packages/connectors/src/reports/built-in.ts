/** Reports about JobForge itself, for the tenant of the job. */
import { InvalidArgumentError, type JobForgeClient, type Usage, type UsageOptions } from "@jobforge/sdk-ts";
import { z } from "zod";
import { ConnectorError } from "../errors.ts";
import { defineReport, type ReportContext, type ReportDefinition } from "./define-report.ts";

const span = z.strictObject({
  from: z.coerce.date().optional(),
  to: z.coerce.date().optional(),
  timezone: z.string().optional(),
});

function spanOf({ params }: ReportContext): z.output<typeof span> {
  const { data, error } = span.safeParse(params);
  if (data !== undefined) return data;
  const [issue] = error.issues;
  throw new ConnectorError(
    "invalid_payload",
    `${["params", ...(issue?.path ?? [])].join(".")}: ${issue?.message}.`,
  );
}

/** The usage of the tenant. What the database refuses, such as an unknown time zone, is a mistake of the payload. */
async function* usageOf(
  forge: Pick<JobForgeClient, "usage">,
  context: ReportContext,
  split: Pick<UsageOptions, "bucket" | "by">,
): AsyncGenerator<Usage> {
  const options = { tenantId: context.tenantId, ...spanOf(context), ...split };
  yield* await forge.usage.report(options).catch((error: unknown) => {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw new ConnectorError("invalid_payload", `params: ${error.message}.`);
  });
}

const totals = [
  { key: "runs", title: "Runs", type: "number" },
  { key: "succeeded", title: "Succeeded", type: "number" },
  { key: "failed", title: "Failed", type: "number" },
  { key: "dead", title: "Dead", type: "number" },
  { key: "costCents", title: "Cost (cents)", type: "number" },
  { key: "runMs", title: "Run time (ms)", type: "number" },
] as const;

/** The client needs a login that may read the usage of the tenant, such as `jobforge_reader` or `jobforge_operator`. */
export function builtInReports(forge: Pick<JobForgeClient, "usage" | "jobs">): ReportDefinition[] {
  return [
    defineReport({
      name: "usage-summary",
      title: "Usage by type",
      columns: [{ key: "type", title: "Type" }, ...totals],
      chart: { label: "type", value: "runs" },
      rows: (context) => usageOf(forge, context, { bucket: "total", by: ["type"] }),
    }),
    defineReport({
      name: "tenant-usage",
      title: "Usage by day",
      columns: [{ key: "startAt", title: "Day", type: "date" }, ...totals],
      chart: { label: "startAt", value: "runs" },
      rows: (context) => usageOf(forge, context, { bucket: "day", by: [] }),
    }),
    defineReport({
      name: "job-analytics",
      title: "Jobs by day",
      columns: [
        { key: "startAt", title: "Day", type: "date" },
        { key: "type", title: "Type" },
        { key: "runs", title: "Runs", type: "number" },
        { key: "retries", title: "Retries", type: "number" },
        { key: "dead", title: "Dead", type: "number" },
        { key: "waitP95Ms", title: "Wait, 95 % (ms)", type: "number" },
        { key: "runP95Ms", title: "Run, 95 % (ms)", type: "number" },
      ],
      rows: (context) => usageOf(forge, context, { bucket: "day", by: ["type"] }),
    }),
    defineReport({
      name: "dead-letters",
      title: "Dead jobs by kind of error",
      columns: [
        { key: "type", title: "Type" },
        { key: "message", title: "Error" },
        { key: "jobs", title: "Jobs", type: "number" },
        { key: "firstAt", title: "First", type: "date" },
        { key: "lastAt", title: "Last", type: "date" },
      ],
      chart: { label: "message", value: "jobs" },
      rows: async function* (context) {
        const { from, to } = spanOf(context);
        const { tenantId } = context;
        yield* await forge.jobs.deadGroups({
          tenantId,
          finishedAfter: from,
          finishedBefore: to,
          limit: 1000,
        });
      },
    }),
  ];
}
