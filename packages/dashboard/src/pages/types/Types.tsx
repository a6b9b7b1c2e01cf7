/** The types of jobs: how much waits, who runs it, and how it went in the last hour. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { api, bodyOf, type Schemas } from "../../api/client.ts";
import { countOf, duration, percent, plural } from "../../lib/format.ts";
import { Link } from "../../ui/Link.tsx";
import { PageHead } from "../../ui/Panel.tsx";
import { Empty, Load } from "../../ui/States.tsx";
import { TableList } from "../../ui/Table.tsx";

export type TypeInfo = Schemas["TypeInfo"];

export const useTypes = (isAllowed = true) =>
  useQuery({
    queryKey: ["types"],
    queryFn: () => bodyOf(api.GET("/v1/types", { params: { query: { span: "1 hour" } } })),
    enabled: isAllowed,
    meta: { live: true },
  });

export function Types(): JSX.Element {
  const types = useTypes();
  return (
    <>
      <PageHead title="Types" note="Waiting and running now; ended within the last hour" />
      <Load query={types}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No type has jobs yet">
              <p>A type appears with its first job, worker or policy.</p>
            </Empty>
          ) : (
            <TypeTable types={items} />
          )
        }
      </Load>
    </>
  );
}

function TypeTable({ types }: { types: readonly TypeInfo[] }): JSX.Element {
  return (
    <TableList
      caption="Types of jobs"
      rows={types}
      keyOf={({ type }) => type}
      columns={[
        {
          title: "Type",
          cell: ({ type }) => <Link to={`/types/${encodeURIComponent(type)}`}>{type}</Link>,
        },
        { title: "Due", kind: "number", cell: ({ due, exact }) => countOf(due, exact) },
        { title: "Scheduled", kind: "number", cell: ({ scheduled, exact }) => countOf(scheduled, exact) },
        { title: "Running", kind: "number", cell: ({ running }) => countOf(running) },
        { title: "Succeeded", kind: "number", cell: ({ succeeded }) => countOf(succeeded) },
        { title: "Failed or dead", kind: "number", cell: ({ failed, dead }) => countOf(failed + dead) },
        { title: "Errors", kind: "number", cell: errorShare },
        {
          title: "Wait",
          kind: "number",
          cell: ({ wait_ms }) => (wait_ms === null ? "–" : duration(wait_ms)),
        },
        { title: "Run", kind: "number", cell: ({ run_ms }) => (run_ms === null ? "–" : duration(run_ms)) },
        { title: "Workers", kind: "number", cell: ({ workers }) => countOf(workers) },
        { title: "State", kind: "short", cell: stateOf },
      ]}
    />
  );
}

export function errorShare({ succeeded, failed, dead }: TypeInfo): string {
  const ended = succeeded + failed + dead;
  return ended === 0 ? "–" : percent(failed + dead, ended);
}

/** What needs attention, in words. */
export function stateOf({ paused, workers, due, running }: TypeInfo): string {
  if (paused) return "Paused";
  if (workers === 0 && due + running > 0) return "No worker";
  return workers === 0 ? "Idle" : plural(workers, "worker");
}
