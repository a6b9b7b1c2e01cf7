/** The columns of the list of jobs that a reader can choose, and the menu in which they are chosen. */
import type { Signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import type { JobRow } from "../../api/jobs.ts";
import { useSeesTenants } from "../../api/session.ts";
import { bytes, cents, duration } from "../../lib/format.ts";
import { tenantName } from "../../shell/TenantSwitch.tsx";
import { storedSet } from "../../state/stored.ts";
import { Button } from "../../ui/Button.tsx";
import { Since, Time } from "../../ui/Time.tsx";
import css from "./JobTable.module.css";

interface Column {
  readonly title: string;
  readonly kind: "subject" | "tenant" | "number" | "when" | "error" | "more";
  readonly cell: (job: JobRow) => ComponentChildren;
  /** Without a name of its own in a card, because the value says what it is. */
  readonly isPlain?: boolean;
}

const columns = {
  subject: { title: "Subject", kind: "subject", cell: (job) => <Subject job={job} /> },
  tenant: {
    title: "Tenant",
    kind: "tenant",
    cell: ({ tenant_label, tenant_id }) => tenantName({ label: tenant_label, tenant_id }),
  },
  attempts: {
    title: "Attempts",
    kind: "number",
    cell: ({ attempts, max_attempts, uncounted }) => `${attempts}/${max_attempts + uncounted}`,
  },
  priority: { title: "Priority", kind: "number", cell: ({ priority }) => String(priority) },
  created: { title: "Created", kind: "more", cell: ({ created_at }) => <Time at={created_at} /> },
  when: {
    title: "When",
    kind: "when",
    isPlain: true,
    cell: ({ status, finished_at, started_at, run_at }) => (
      <Time at={finished_at ?? (status === "running" ? started_at : run_at)} />
    ),
  },
  took: { title: "Took", kind: "number", cell: (job) => <Took job={job} /> },
  worker: { title: "Worker", kind: "more", cell: ({ worker }) => worker ?? "–" },
  size: { title: "Payload", kind: "number", cell: ({ payload_bytes }) => bytes(payload_bytes) },
  cost: {
    title: "Cost",
    kind: "number",
    cell: ({ cost_cents }) => (cost_cents === null ? "–" : cents(cost_cents)),
  },
  error: { title: "Error", kind: "error", isPlain: true, cell: ({ last_error }) => last_error },
} as const satisfies Readonly<Record<string, Column>>;

export type ColumnName = keyof typeof columns;
const names = Object.keys(columns) as ColumnName[];
export const usual: readonly ColumnName[] = ["subject", "tenant", "attempts", "when", "took", "error"];

/** The columns that this browser shows. */
const chosen: Signal<readonly ColumnName[]> = storedSet("columns", names, usual);

interface ShownColumn extends Column {
  readonly name: ColumnName;
}

/** The chosen columns. A caller with one tenant has no column for it. */
export function useColumns(): readonly ShownColumn[] {
  const seesTenants = useSeesTenants();
  return chosen.value
    .filter((name) => name !== "tenant" || seesTenants)
    .map((name) => ({ name, ...columns[name] }));
}

const menuId = "columns-of-jobs";

export function ColumnMenu(): JSX.Element {
  const seesTenants = useSeesTenants();
  const toggle = (name: ColumnName): void => {
    chosen.value = names.filter((each) => chosen.value.includes(each) !== (each === name));
  };
  return (
    <span class={css["columns"]}>
      <Button icon="settings" popovertarget={menuId}>
        Columns
      </Button>
      <fieldset id={menuId} popover="auto" class={css["sheet"]}>
        <legend>Columns of the list</legend>
        {names
          .filter((name) => name !== "tenant" || seesTenants)
          .map((name) => (
            <label key={name}>
              <input type="checkbox" checked={chosen.value.includes(name)} onChange={() => toggle(name)} />
              {columns[name].title}
            </label>
          ))}
        <Button
          kind="quiet"
          onClick={() => {
            chosen.value = usual;
          }}
        >
          The usual ones
        </Button>
      </fieldset>
    </span>
  );
}

function Subject({ job: { subject, tags } }: { job: JobRow }): JSX.Element {
  return (
    <>
      {subject}
      {tags.map((tag) => (
        <span key={tag} class={css["tag"]}>
          {tag}
        </span>
      ))}
    </>
  );
}

function Took({ job }: { job: JobRow }): JSX.Element {
  if (job.started_at === null) return <>–</>;
  if (job.finished_at === null) return job.status === "running" ? <Since at={job.started_at} /> : <>–</>;
  return <>{duration(job.duration_ms ?? 0)}</>;
}
