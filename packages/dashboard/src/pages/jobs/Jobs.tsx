/** The jobs: tabs by state, a filter that is the address, rows that can be selected and changed. */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useSearch } from "wouter-preact/use-browser-location";
import { type JobRow, mostRows, useJobs } from "../../api/jobs.ts";
import { useMay } from "../../api/session.ts";
import { type JobFilter, paramsOf, readFilter } from "../../lib/filter.ts";
import { count } from "../../lib/format.ts";
import { useKeys } from "../../shell/keys.ts";
import { changes, finished } from "../../state/live.ts";
import { navigate, useTenant } from "../../state/route.ts";
import { Button } from "../../ui/Button.tsx";
import { PageHead } from "../../ui/Panel.tsx";
import { ProblemNote, Skeleton } from "../../ui/States.tsx";
import { BulkBar } from "./BulkBar.tsx";
import { CopyMenu } from "./CopyMenu.tsx";
import { FilterBar } from "./FilterBar.tsx";
import css from "./Jobs.module.css";
import { JobTable } from "./JobTable.tsx";
import { NoJobs } from "./NoJobs.tsx";
import { moveRow, rememberList } from "./rows.ts";
import { StateTabs } from "./StateTabs.tsx";
import { useSelection } from "./selection.ts";
import { useNewJobs } from "./useNewJobs.ts";

export function Jobs(): JSX.Element {
  const search = useSearch();
  const tenant = useTenant();
  const may = useMay();
  const filter = useMemo(() => readFilter(search), [search]);
  const list = useJobs(filter, tenant);
  const loaded = useMemo(() => list.data?.pages.flatMap(({ items }) => items) ?? [], [list.data]);
  const jobs = useFinished(loaded);
  const selection = useSelection(jobs);
  const fresh = useNewJobs(filter, tenant, jobs[0]);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => rememberList(jobs), [jobs]);
  useEffect(() => selection.clear(), [search]);
  const show = (next: JobFilter): void => navigate("/jobs", paramsOf(next));
  const canChange = may("cancel_jobs");
  useKeys({
    "/": () => field.current?.focus(),
    j: () => moveRow(1),
    k: () => moveRow(-1),
    ArrowDown: () => moveRow(1),
    ArrowUp: () => moveRow(-1),
    x: () => toggleFocused(jobs, (job) => selection.toggle(job, false)),
    "shift+x": () => toggleFocused(jobs, (job) => selection.toggle(job, true)),
    a: () => canChange && selection.selectAllThatMatch(),
    Escape: () => selection.clear(),
  });
  const isWaiting = list.isPlaceholderData;
  return (
    <>
      <PageHead title="Jobs">
        <CopyMenu filter={filter} tenant={tenant} jobs={jobs} />
      </PageHead>
      <div class={css["list"]}>
        <StateTabs filter={filter} onChange={show} />
        <FilterBar filter={filter} onChange={show} field={field} />
        {list.error !== null && <ProblemNote error={list.error} onRetry={() => void list.refetch()} />}
        {fresh > 0 && (
          <button type="button" class={css["fresh"]} onClick={() => void list.refetch()}>
            {fresh >= 50 ? "50 or more new jobs" : `${count(fresh)} new ${fresh === 1 ? "job" : "jobs"}`} ·
            Show
          </button>
        )}
        {list.data === undefined && list.error === null && <Skeleton rows={12} />}
        {jobs.length > 0 && (
          <JobTable
            jobs={jobs}
            caption="Jobs, newest first"
            isStale={isWaiting}
            {...(canChange && { selection })}
          />
        )}
        {list.data !== undefined && jobs.length === 0 && !isWaiting && (
          <NoJobs filter={filter} onChange={show} />
        )}
        <More shown={jobs.length} list={list} />
      </div>
      {canChange && <BulkBar selection={selection} filter={filter} tenant={tenant} />}
    </>
  );
}

interface Pages {
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly fetchNextPage: () => unknown;
}

function More({ shown, list }: { shown: number; list: Pages }): JSX.Element | null {
  if (shown === 0) return null;
  return (
    <p class={css["more"]}>
      <span role="status">{list.hasNextPage ? `The newest ${count(shown)}` : `${count(shown)} in all`}</span>
      {list.hasNextPage &&
        (shown >= mostRows ? (
          <span>Narrow the filter to see older jobs.</span>
        ) : (
          <Button busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            Load more
          </Button>
        ))}
    </p>
  );
}

/** The rows with what the live stream says about them: a row changes in its place, no row moves. */
function useFinished(jobs: readonly JobRow[]): readonly JobRow[] {
  const [known, setKnown] = useState<ReadonlyMap<string, object>>(new Map());
  const arrived = finished.value;
  const at = changes.value;
  useEffect(() => {
    if (arrived.length > 0)
      setKnown(
        (before) => new Map([...before, ...arrived.map((job) => [job.id, job] as const)].slice(-mostRows)),
      );
  }, [at]);
  return useMemo(
    () =>
      jobs.map((job) => {
        const end = job.finished_at === null ? known.get(job.id) : undefined;
        return end === undefined ? job : { ...job, ...end };
      }),
    [jobs, known],
  );
}

function toggleFocused(jobs: readonly JobRow[], toggle: (job: JobRow) => void): void {
  const id = document.activeElement?.closest("tr")?.dataset["id"];
  const job = jobs.find((each) => each.id === id) ?? jobs[0];
  if (job !== undefined) toggle(job);
}
