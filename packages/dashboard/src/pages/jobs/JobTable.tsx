/** The list of jobs. A table of the platform, so that find-in-page and screen readers see every row. */
import type { JSX } from "preact";
import type { JobRow } from "../../api/jobs.ts";
import { useSeesTenants } from "../../api/session.ts";
import { duration } from "../../lib/format.ts";
import { tenantName } from "../../shell/TenantSwitch.tsx";
import { now } from "../../state/settings.ts";
import { Link } from "../../ui/Link.tsx";
import { Status, wordFor } from "../../ui/Status.tsx";
import { Since, Time } from "../../ui/Time.tsx";
import css from "./JobTable.module.css";
import type { Selection } from "./selection.ts";

interface JobTableProps {
  readonly jobs: readonly JobRow[];
  readonly selection?: Selection;
  readonly isStale?: boolean;
  readonly caption: string;
}

export function JobTable({ jobs, selection, isStale, caption }: JobTableProps): JSX.Element {
  const seesTenants = useSeesTenants();
  return (
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
          <th scope="col">Subject</th>
          {seesTenants && <th scope="col">Tenant</th>}
          <th scope="col" class={css["number"]}>
            Attempts
          </th>
          <th scope="col">When</th>
          <th scope="col" class={css["number"]}>
            Took
          </th>
          <th scope="col">Error</th>
        </tr>
      </thead>
      <tbody>
        {jobs.map((job) => (
          <Row key={job.id} job={job} seesTenants={seesTenants} {...(selection && { selection })} />
        ))}
      </tbody>
    </table>
  );
}

function Row({
  job,
  selection,
  seesTenants,
}: {
  job: JobRow;
  selection?: Selection;
  seesTenants: boolean;
}): JSX.Element {
  const isSelected = selection?.has(job.id) ?? false;
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
      </td>
      <td class={css["type"]}>
        <Link to={`/jobs/${job.id}`} params={seesTenants ? { of: job.tenant_id } : {}}>
          {job.type}
        </Link>
      </td>
      <td class={css["subject"]} data-label="Subject">
        {job.subject}
        {job.tags.map((tag) => (
          <span key={tag} class={css["tag"]}>
            {tag}
          </span>
        ))}
      </td>
      {seesTenants && (
        <td class={css["tenant"]} data-label="Tenant">
          {tenantName({ label: job.tenant_label, tenant_id: job.tenant_id })}
        </td>
      )}
      <td class={css["number"]} data-label="Attempts">
        {job.attempts}/{job.max_attempts + job.uncounted}
      </td>
      <td class={css["when"]}>
        <Time at={job.finished_at ?? (job.status === "running" ? job.started_at : job.run_at)} />
      </td>
      <td class={css["number"]} data-label="Took">
        <Took job={job} />
      </td>
      <td class={css["error"]} title={job.last_error ?? undefined}>
        {job.last_error}
      </td>
    </tr>
  );
}

function Took({ job }: { job: JobRow }): JSX.Element {
  if (job.started_at === null) return <>–</>;
  if (job.finished_at === null) return job.status === "running" ? <Since at={job.started_at} /> : <>–</>;
  return <>{duration(job.duration_ms ?? 0)}</>;
}
