/** One tab for each state, with its count where counting is cheap. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { api, bodyOf } from "../../api/client.ts";
import { isEmpty, type JobFilter, paramsOf, type State, states } from "../../lib/filter.ts";
import { countOf } from "../../lib/format.ts";
import { useTenant } from "../../state/route.ts";
import { Link } from "../../ui/Link.tsx";
import { Status } from "../../ui/Status.tsx";
import css from "./Jobs.module.css";

export function StateTabs({
  filter,
}: {
  filter: JobFilter;
  onChange: (filter: JobFilter) => void;
}): JSX.Element {
  const counts = useCounts(isEmpty(filter));
  const chosen = filter.state;
  return (
    <nav class={css["tabs"]} aria-label="States">
      <Link to="/jobs" params={paramsOf({ ...filter, state: [] })} current={chosen.length === 0}>
        All
      </Link>
      {states.map((state) => (
        <Link
          key={state}
          to="/jobs"
          params={paramsOf({ ...filter, state: [state] })}
          current={chosen.length === 1 && chosen[0] === state}
        >
          <Status word={state} />
          {counts[state] !== undefined && <span class={css["count"]}>{counts[state]}</span>}
        </Link>
      ))}
    </nav>
  );
}

/** Counts of live jobs. They are of all jobs, so a filter hides them: a count that ignores the filter misleads. */
function useCounts(isShown: boolean): Readonly<Partial<Record<State, string>>> {
  const tenant = useTenant();
  const { data } = useQuery({
    queryKey: ["live-counts", tenant ?? null],
    queryFn: () =>
      bodyOf(api.GET("/v1/live", { params: { query: tenant === undefined ? {} : { tenant_id: tenant } } })),
    enabled: isShown,
    meta: { live: true },
  });
  if (!isShown || data === undefined) return {};
  const rows = data.items;
  const sum = (of: (row: (typeof rows)[number]) => number): string =>
    countOf(
      rows.reduce((total, row) => total + of(row), 0),
      rows.every(({ exact }) => exact),
    );
  return {
    queued: sum(({ queued, scheduled }) => queued + scheduled),
    running: sum(({ running }) => running),
  };
}
