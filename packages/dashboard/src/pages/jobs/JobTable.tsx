/** The list of jobs. A table of the platform, so that find-in-page and screen readers see every row. */
import type { JSX } from "preact";
import type { JobRow } from "../../api/jobs.ts";
import { useSeesTenants } from "../../api/session.ts";
import { now } from "../../state/settings.ts";
import { Link } from "../../ui/Link.tsx";
import { Status, wordFor } from "../../ui/Status.tsx";
import { useColumns, usual } from "./columns.tsx";
import css from "./JobTable.module.css";
import type { Selection } from "./selection.ts";
import { type Hindrance, useHindrances } from "./useHindrances.ts";

interface JobTableProps {
  readonly jobs: readonly JobRow[];
  readonly selection?: Selection;
  readonly isStale?: boolean;
  readonly caption: string;
}

export function JobTable({ jobs, selection, isStale, caption }: JobTableProps): JSX.Element {
  const seesTenants = useSeesTenants();
  const columns = useColumns();
  const hindrance = useHindrances(jobs);
  // The usual columns fit. With more of them, the table moves by itself, and its heading does not stay in sight.
  return (
    <div class={columns.length > usual.length ? css["scroll"] : undefined}>
      <table class={`${css["table"]} ${isStale ? css["stale"] : ""}`} data-jobs>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {selection && (
              <th scope="col" class={css["check"]}>
                <input
                  type="checkbox"
                  aria-label="Select all rows that are shown"
                  checked={jobs.length > 0 && jobs.every(({ id }) => selection.has(id))}
                  onChange={({ currentTarget }) => selection.setAll(jobs, currentTarget.checked)}
                />
              </th>
            )}
            <th scope="col">Status</th>
            <th scope="col">Type</th>
            {columns.map(({ name, title, kind }) => (
              <th key={name} scope="col" class={kind === "number" ? css["number"] : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {jobs.map((job) => (
            <Row
              key={job.id}
              job={job}
              columns={columns}
              seesTenants={seesTenants}
              hindrance={hindrance}
              {...(selection && { selection })}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  readonly job: JobRow;
  readonly columns: ReturnType<typeof useColumns>;
  readonly selection?: Selection;
  readonly seesTenants: boolean;
  readonly hindrance: Hindrance;
}

function Row({ job, columns, selection, seesTenants, hindrance }: RowProps): JSX.Element {
  const isSelected = selection?.has(job.id) ?? false;
  const held = hindrance(job);
  return (
    <tr class={isSelected ? css["picked"] : undefined} data-id={job.id}>
      {selection && (
        <td class={css["check"]}>
          <input
            type="checkbox"
            aria-label={`Select ${job.type} ${job.id}`}
            checked={isSelected}
            onClick={(event) => selection.toggle(job, event.shiftKey)}
          />
        </td>
      )}
      <td class={css["status"]}>
        <Status word={wordFor(job, now.peek())} />
        {held !== undefined && <span class={css["held"]}>{held}</span>}
      </td>
      <td class={css["type"]}>
        <Link to={`/jobs/${job.id}`} params={seesTenants ? { of: job.tenant_id } : {}}>
          {job.type}
        </Link>
      </td>
      {columns.map(({ name, title, kind, cell, isPlain }) => (
        <td
          key={name}
          class={css[kind]}
          {...(!isPlain && { "data-label": title })}
          title={name === "error" ? (job.last_error ?? undefined) : undefined}
        >
          {cell(job)}
        </td>
      ))}
    </tr>
  );
}
