/** Reports about JobForge itself, for the tenant of the job. */
import type { JobForgeClient } from "@jobforge/sdk-ts";
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
  throw new ConnectorError("invalid_payload", `params.${issue?.path.join(".")}: ${issue?.message}.`);
}

/** The client needs a login that may read the usage of the tenant, such as `jobforge_reader` or `jobforge_operator`. */
export function builtInReports(forge: Pick<JobForgeClient, "usage" | "jobs">): ReportDefinition[] {
  return [
    defineReport({
      name: "usage-summary",
      title: "Usage by type",
      columns: [
        { key: "type", title: "Type" },
        { key: "runs", title: "Runs", type: "number" },
        { key: "succeeded", title: "Succeeded", type: "number" },
        { key: "failed", title: "Failed", type: "number" },
        { key: "dead", title: "Dead", type: "number" },
        { key: "costCents", title: "Cost (cents)", type: "number" },
        { key: "runMs", title: "Run time (ms)", type: "number" },
      ],
      chart: { label: "type", value: "runs" },
      rows: async function* (context) {
        const { tenantId } = context;
        yield* await forge.usage.report({ tenantId, ...spanOf(context), bucket: "total", by: ["type"] });
      },
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
      rows: async function* (context) {
        const { tenantId } = context;
        yield* await forge.usage.report({ tenantId, ...spanOf(context), bucket: "day", by: ["type"] });
      },
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
