/** The types of jobs: how much waits, who runs it, and how it went in the last hour. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { api, apiBase, bodyOf, type Schemas } from "../../api/client.ts";
import { useMay } from "../../api/session.ts";
import { wholeList } from "../../lib/commands.ts";
import { countOf, duration, percent } from "../../lib/format.ts";
import { endsByType } from "../../lib/series.ts";
import { CopyAs } from "../../ui/Copy.tsx";
import { Link } from "../../ui/Link.tsx";
import { PageHead } from "../../ui/Panel.tsx";
import { Spark } from "../../ui/Spark.tsx";
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
      <PageHead title="Types" note="Waiting and running now; ended within the last hour">
        <CopyAs commands={wholeList("types", apiBase)} />
      </PageHead>
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
  const may = useMay();
  const ends = useEnds(types);
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
        may("series") && {
          title: "Last hour",
          kind: "short",
          cell: ({ type }) => <Ends values={ends.get(type)} />,
        },
        {
          title: "Median wait",
          kind: "number",
          cell: ({ wait_ms }) => (wait_ms === null ? "–" : duration(Math.max(0, wait_ms))),
        },
        {
          title: "Median run",
          kind: "number",
          cell: ({ run_ms }) => (run_ms === null ? "–" : duration(run_ms)),
        },
        {
          title: "Workers",
          kind: "number",
          cell: ({ workers }) => (workers === null ? "–" : countOf(workers)),
        },
        { title: "State", kind: "short", cell: stateOf },
      ]}
    />
  );
}

/** The API returns up to 20 series at once. */
const mostSeries = 20;

/** The ends of runs per minute of the busiest types, in the last hour. */
function useEnds(types: readonly TypeInfo[]): ReadonlyMap<string, readonly (number | null)[]> {
  const may = useMay();
  const busiest = [...types]
    .filter((type) => endsOf(type) > 0)
    .sort((a, b) => endsOf(b) - endsOf(a))
    .slice(0, mostSeries)
    .map(({ type }) => type)
    .sort();
  const { data } = useQuery({
    queryKey: ["series-of-types", busiest.join()],
    queryFn: () => bodyOf(api.GET("/v1/series", { params: { query: { step: "1m", type: busiest } } })),
    enabled: may("series") && busiest.length > 0,
    refetchInterval: 60_000,
    placeholderData: (before) => before,
  });
  return useMemo(() => endsByType(data?.items ?? [], Date.now()), [data]);
}

const endsOf = ({ succeeded, failed, dead }: TypeInfo): number => succeeded + failed + dead;

function Ends({ values }: { values: readonly (number | null)[] | undefined }): JSX.Element | null {
  if (values === undefined) return null;
  const most = Math.max(...values.map((value) => value ?? 0));
  return <Spark values={values} label={`Up to ${countOf(most)} runs ended per minute`} />;
}

export function errorShare({ succeeded, failed, dead }: TypeInfo): string {
  const ended = succeeded + failed + dead;
  return ended === 0 ? "–" : percent(failed + dead, ended);
}

/** How the type is doing, in a word. Its workers have a column of their own. */
export function stateOf({ paused, workers, due, running }: TypeInfo): string {
  const isBusy = due + running > 0;
  if (paused) return "Paused";
  if (workers === 0) return isBusy ? "No worker" : "Idle";
  return isBusy ? "Busy" : workers === null ? "Idle" : "Ready";
}
