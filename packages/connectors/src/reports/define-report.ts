/** Reports that code defines. Payloads contain no SQL: they name a report and its parameters. */
import type { JobContext } from "@jobforge/sdk-ts";

export type ReportRow = Readonly<Record<string, unknown>>;

export interface ReportContext {
  readonly tenantId: string;
  /** The parameters of the payload. Check them: a tenant wrote them. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  readonly job: JobContext;
}

export interface ReportDefinition {
  /** What payloads call the report: small letters, digits and dashes. */
  readonly name: string;
  readonly title?: string | undefined;
  readonly columns: readonly {
    readonly key: string;
    readonly title?: string;
    readonly type?: "text" | "number" | "date" | "url";
  }[];
  /** A chart of bars in HTML. */
  readonly chart?: { readonly label: string; readonly value: string } | undefined;
  /** Yields the rows one by one, so that a report of any size needs little memory. */
  rows(context: ReportContext): AsyncIterable<object> | Iterable<object>;
}

/** Defines a report for the option `reports` of `connectors`. */
export function defineReport(definition: ReportDefinition): ReportDefinition {
  if (!/^[a-z][a-z0-9-]{0,63}$/.test(definition.name))
    throw new RangeError(`The name of a report must be such as monthly-invoices, not ${definition.name}`);
  return definition;
}
