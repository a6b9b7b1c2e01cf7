/** Why jobs wait, for many of them: how many of which type wait for what. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, bodyOf, type Schemas } from "../../api/client.ts";
import { useMay } from "../../api/session.ts";
import { countOf, plural } from "../../lib/format.ts";
import { Button } from "../../ui/Button.tsx";
import { Link } from "../../ui/Link.tsx";
import { Panel } from "../../ui/Panel.tsx";
import { Load } from "../../ui/States.tsx";
import { Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";

type Group = Schemas["Waiting"];

const words: Readonly<Record<Group["reason"], string>> = {
  paused: "Paused",
  no_worker: "No worker runs this type",
  at_limit: "At a limit",
  due: "Next when a worker is free",
  scheduled: "Due later",
};

const mostShown = 8;

export function Waiting(): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const waiting = useQuery({
    queryKey: ["waiting"],
    queryFn: () => bodyOf(api.GET("/v1/waiting")),
    meta: { live: true },
  });
  const rest = (waiting.data?.items.length ?? 0) - mostShown;
  return (
    <Panel title="Why jobs wait" flush={(waiting.data?.items.length ?? 0) > 0}>
      <Load query={waiting} rows={3}>
        {({ items }) =>
          items.length === 0 ? (
            <p>No job waits.</p>
          ) : (
            <>
              <Groups groups={isOpen ? items : items.slice(0, mostShown)} />
              {rest > 0 && !isOpen && (
                <p class="inset">
                  <Button onClick={() => setOpen(true)}>Show {plural(rest, "more group")}</Button>
                </p>
              )}
            </>
          )
        }
      </Load>
    </Panel>
  );
}

function Groups({ groups }: { groups: readonly Group[] }): JSX.Element {
  return (
    <Table
      caption="Waiting jobs by reason and type"
      rows={groups}
      keyOf={({ reason, type }) => `${reason} ${type}`}
      columns={[
        { title: "Type", cell: (group) => <JobsLink group={group} /> },
        { title: "Jobs", kind: "number", cell: ({ jobs, exact }) => countOf(jobs, exact) },
        { title: "Why", cell: ({ reason }) => words[reason] },
        {
          title: "Oldest",
          kind: "short",
          cell: ({ oldest_run_at }) => (oldest_run_at === null ? "–" : <Time at={oldest_run_at} />),
        },
        { title: "Look at", kind: "short", cell: (group) => <Cause group={group} /> },
      ]}
    />
  );
}

function JobsLink({ group: { reason, type } }: { group: Group }): JSX.Element {
  const may = useMay();
  if (!may("list_jobs")) return <strong>{type}</strong>;
  const phase = reason === "scheduled" ? { phase: "scheduled" } : {};
  return (
    <Link to="/jobs" params={{ status: "queued", type, ...phase }}>
      {type}
    </Link>
  );
}

/** The page where the cause can be changed. */
function Cause({ group: { reason, type } }: { group: Group }): JSX.Element | null {
  if (reason === "paused" || reason === "at_limit") return <Link to="/controls">Limits and pauses</Link>;
  if (reason === "no_worker") return <Link to="/workers">Workers</Link>;
  return <Link to={`/types/${encodeURIComponent(type)}`}>The type</Link>;
}
