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

/** What a queued job waits for. */
const phases = ["due", "scheduled", "retrying"] as const;

export function StateTabs({ filter }: { filter: JobFilter }): JSX.Element {
  const counts = useCounts(isEmpty(filter));
  const chosen = filter.state;
  const { phase, ...text } = filter.text;
  const rest = { ...filter, text };
  return (
    <nav class={css["tabs"]} aria-label="States">
      <Link to="/jobs" params={paramsOf({ ...rest, state: [] })} current={chosen.length === 0}>
        All
      </Link>
      {states.map((state) => (
        <Link
          key={state}
          to="/jobs"
          params={paramsOf({ ...rest, state: [state] })}
          current={chosen.length === 1 && chosen[0] === state && phase === undefined}
        >
          <Status word={state} />
          {counts[state] !== undefined && <span class={css["count"]}>{counts[state]}</span>}
        </Link>
      ))}
      {chosen.length === 1 &&
        chosen[0] === "queued" &&
        phases.map((each) => (
          <Link
            key={each}
            to="/jobs"
            params={paramsOf({ ...rest, state: ["queued"], text: { ...text, phase: each } })}
            current={phase === each}
          >
            <Status word={each} />
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
