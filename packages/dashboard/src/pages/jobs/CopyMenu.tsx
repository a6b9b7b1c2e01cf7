/** Copies the list as a command, and saves what is shown as a file. */
import type { JSX } from "preact";
import { apiBase } from "../../api/client.ts";
import type { JobRow } from "../../api/jobs.ts";
import { listCommands } from "../../lib/commands.ts";
import { csvOf } from "../../lib/csv.ts";
import type { JobFilter } from "../../lib/filter.ts";
import { CopyAs } from "../../ui/Copy.tsx";
import { save } from "../../ui/save.ts";

const columns = [
  "id",
  "tenant_id",
  "tenant_label",
  "type",
  "status",
  "subject",
  "attempts",
  "created_at",
  "run_at",
  "started_at",
  "finished_at",
  "last_error",
] as const;

export function CopyMenu({
  filter,
  tenant,
  jobs,
}: {
  filter: JobFilter;
  tenant: string | undefined;
  jobs: readonly JobRow[];
}): JSX.Element {
  const rows = (): Record<string, unknown>[] =>
    jobs.map((job) => Object.fromEntries(columns.map((column) => [column, job[column]])));
  const lines = (): string =>
    rows()
      .map((row) => `${JSON.stringify(row)}\n`)
      .join("");
  return (
    <CopyAs
      commands={listCommands(filter, tenant, apiBase)}
      more={[
        ["Save the shown rows as CSV", () => save("jobs.csv", "text/csv", csvOf(columns, rows()))],
        ["Save the shown rows as NDJSON", () => save("jobs.ndjson", "application/x-ndjson", lines())],
      ]}
    />
  );
}
