/** Writers of reports. Each turns rows into text one by one, and trusts no value. */
import { type Bar, barChart } from "./chart.ts";
import { csvCell } from "./csv.ts";
import type { ReportRow } from "./define-report.ts";
import type { ReportColumn, ReportFormat } from "./definition.ts";
import { escapeHtml } from "./escape.ts";

export interface ReportFacts {
  readonly title: string;
  readonly generatedAt: string;
  readonly columns: readonly ReportColumn[];
  readonly bom: boolean;
  readonly raw: boolean;
  readonly chart?: { readonly label: string; readonly value: string } | undefined;
}

export interface ReportWriter {
  readonly contentType: string;
  head(): string;
  row(row: ReportRow, index: number): string;
  tail(rows: number): string;
}

/** A value as text: dates in ISO form, objects as JSON. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "" : value.toISOString();
  return typeof value === "object" ? jsonOf(value) : String(value);
}

/** A value as JSON. Drivers return large numbers as bigint, which JSON does not have: it becomes a text. */
function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => (typeof each === "bigint" ? String(each) : each));
}

function csvWriter({ columns, bom, raw }: ReportFacts): ReportWriter {
  const line = (values: readonly unknown[]): string =>
    `${values.map((value) => csvCell(value, textOf(value), raw)).join(",")}\r\n`;
  return {
    contentType: "text/csv; charset=utf-8",
    head: () => `${bom ? "\uFEFF" : ""}${line(columns.map(({ key, title }) => title ?? key))}`,
    row: (row) => line(columns.map(({ key }) => row[key])),
    tail: () => "",
  };
}

function jsonWriter({ columns, title, generatedAt }: ReportFacts): ReportWriter {
  const picked = (row: ReportRow): object =>
    Object.fromEntries(columns.map(({ key }) => [key, row[key] ?? null]));
  return {
    contentType: "application/json",
    head: () => `{"title":${JSON.stringify(title)},"generated_at":"${generatedAt}","rows":[`,
    row: (row, index) => `${index === 0 ? "" : ","}\n${jsonOf(picked(row))}`,
    tail: (rows) => `\n],"count":${rows}}\n`,
  };
}

const style =
  "body{font:14px/1.5 system-ui,sans-serif;margin:2em;color:#222}table{border-collapse:collapse}" +
  "th,td{padding:.3em .8em;border-bottom:1px solid #ddd;text-align:left}.n{text-align:right}svg{margin-top:2em}";

function htmlWriter({ columns, title, generatedAt, chart }: ReportFacts): ReportWriter {
  const bars: Bar[] = [];
  const attribute = ({ type }: ReportColumn): string => (type === "number" ? ' class="n"' : "");
  const shown = (value: unknown, type: ReportColumn["type"]): string => {
    const text = escapeHtml(textOf(value));
    const isLink = type === "url" && typeof value === "string" && /^https?:\/\//i.test(value);
    return isLink ? `<a href="${text}" rel="noopener noreferrer">${text}</a>` : text;
  };
  return {
    contentType: "text/html; charset=utf-8",
    head: () =>
      `<!doctype html><html><head><meta charset="utf-8"><title>${escapeHtml(title)}</title>` +
      `<style>${style}</style></head><body><h1>${escapeHtml(title)}</h1><p>${escapeHtml(generatedAt)}</p><table><thead><tr>` +
      `${columns.map((column) => `<th${attribute(column)}>${escapeHtml(column.title ?? column.key)}</th>`).join("")}</tr></thead><tbody>\n`,
    row: (row) => {
      if (chart !== undefined)
        bars.push({ label: textOf(row[chart.label]), value: Number(row[chart.value]) });
      if (bars.length > maxBars) bars.pop();
      return `<tr>${columns.map((column) => `<td${attribute(column)}>${shown(row[column.key], column.type)}</td>`).join("")}</tr>\n`;
    },
    tail: (rows) => `</tbody></table><p>${rows} rows</p>${barChart(bars)}</body></html>\n`,
  };
}

const maxBars = 50;

export const writers: Readonly<Record<ReportFormat, (facts: ReportFacts) => ReportWriter>> = {
  csv: csvWriter,
  json: jsonWriter,
  html: htmlWriter,
};
