/** `connector.report.generate`: the payload and the result, with the names that older payloads use. */
import { defineJob, type JobDefinition } from "@jobforge/sdk-ts";
import { z } from "zod";
import { jsonValue } from "../json-value.ts";

export const formats = ["json", "html", "csv"] as const;
const format = z.enum(formats);

const column = z.strictObject({
  key: z.string().min(1),
  title: z.string().optional(),
  /** How values are shown. `url`: a link in HTML, if it is http or https. */
  type: z.enum(["text", "number", "date", "url"]).default("text"),
});
const row = z.record(z.string(), jsonValue);

const payload = z
  .strictObject({
    /** The name of a built-in or registered report. It reads its rows itself, unless the payload has them. */
    report_type: z
      .string()
      .regex(/^[a-z][a-z0-9-]{0,63}$/, "must be a name such as usage-summary")
      .default("rows"),
    params: z.record(z.string(), jsonValue).default({}),
    rows: z.array(row).optional(),
    /** An artifact of the tenant with one JSON object per line. */
    inputs_ref: z.string().optional(),
    columns: z.array(column).optional(),
    format: z.union([format, z.array(format).min(1)]).default(["json"]),
    options: z
      .strictObject({
        title: z.string().max(200).optional(),
        /** Begins the CSV with a byte order mark, for spreadsheets. */
        bom: z.boolean().default(false),
        /** Writes the CSV for programs: cells that look like formulas are not escaped. */
        raw: z.boolean().default(false),
        /** The largest number of rows. */
        limit: z.int().min(1).max(10_000_000).default(1_000_000),
        /** A chart of bars in HTML, of the first rows. */
        chart: z.strictObject({ label: z.string(), value: z.string() }).optional(),
      })
      .prefault({}),
    /** Older name of `rows`. One object is one row. */
    inputs_data: z.union([z.array(row), row]).optional(),
  })
  .transform(({ inputs_data, rows, format, ...rest }) => ({
    ...rest,
    rows: rows ?? (inputs_data === undefined || Array.isArray(inputs_data) ? inputs_data : [inputs_data]),
    formats: [...new Set(Array.isArray(format) ? format : [format])],
  }));

const result = z.object({
  report_type: z.string(),
  rows: z.int(),
  /** Whether there were more rows than the limit. */
  truncated: z.boolean(),
  formats: z.array(z.object({ format, bytes: z.int(), sha256: z.string(), ref: z.string().optional() })),
  report_json: z.string().optional(),
  report_html: z.string().optional(),
  report_csv: z.string().optional(),
  /** The first artifact, if the report is stored as artifacts. */
  artifact_ref: z.string().optional(),
  metadata: z.object({ title: z.string(), generated_at: z.string() }),
});

export type ReportColumn = z.output<typeof column>;
export type ReportRequest = z.output<typeof payload>;
export type ReportResult = z.infer<typeof result>;
export type ReportFormat = (typeof formats)[number];

/** Writes a report from rows. */
export const reportGenerate: JobDefinition<"connector.report.generate", typeof payload, typeof result> =
  defineJob({
    type: "connector.report.generate",
    input: payload,
    output: result,
    retry: "standard",
  });
