/** The jobs: tabs by state, a filter that is the address, rows that can be selected and changed. */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useSearch } from "wouter-preact/use-browser-location";
import { type JobRow, mostRows, useJobs } from "../../api/jobs.ts";
import { useMay } from "../../api/session.ts";
import { type JobFilter, type Order, orderOf, paramsOf, readFilter } from "../../lib/filter.ts";
import { count } from "../../lib/format.ts";
import { useKeys } from "../../shell/keys.ts";
import { type FinishedJob, finished } from "../../state/live.ts";
import { navigate, useTenant } from "../../state/route.ts";
import { Button } from "../../ui/Button.tsx";
import { PageHead } from "../../ui/Panel.tsx";
import { ProblemNote, Skeleton } from "../../ui/States.tsx";
import { Time } from "../../ui/Time.tsx";
import { BulkBar } from "./BulkBar.tsx";
import { CopyMenu } from "./CopyMenu.tsx";
import { ColumnMenu } from "./columns.tsx";
import { FilterBar } from "./FilterBar.tsx";
import css from "./Jobs.module.css";
import { JobTable } from "./JobTable.tsx";
import { NoJobs } from "./NoJobs.tsx";
import { listKeys, rememberList } from "./rows.ts";
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
  const fresh = useNewJobs(filter, tenant, loaded[0]);
  const order = orderOf(filter);
  const searchedAfter = list.data?.pages.at(-1)?.searched_after ?? undefined;
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => rememberList(jobs), [jobs]);
  useEffect(() => selection.clear(), [search]);
  const show = (next: JobFilter): void => navigate("/jobs", paramsOf(next));
  const canChange = may("cancel_jobs");
  useKeys({
    "/": () => field.current?.focus(),
    ...listKeys,
    x: () => toggleFocused(jobs, (job) => selection.toggle(job, false)),
    "shift+x": () => toggleFocused(jobs, (job) => selection.toggle(job, true)),
    a: () => canChange && selection.selectAllThatMatch(),
    Escape: () => selection.clear(),
  });
  const isWaiting = list.isPlaceholderData;
  return (
    <>
      <PageHead title="Jobs">
        <ColumnMenu />
        <CopyMenu filter={filter} tenant={tenant} jobs={jobs} />
      </PageHead>
      <div class={css["list"]}>
        <StateTabs filter={filter} />
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
            caption={`Jobs, ${orders[order].sorted}`}
            isStale={isWaiting}
            {...(canChange && { selection })}
          />
        )}
        {list.data !== undefined && jobs.length === 0 && !isWaiting && (
          <NoJobs filter={filter} onChange={show} searchedAfter={searchedAfter} />
        )}
        <More shown={jobs.length} list={list} order={order} searchedAfter={searchedAfter} />
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

const orders: Readonly<Record<Order, { sorted: string; first: string }>> = {
  created: { sorted: "newest first", first: "The newest" },
  oldest: { sorted: "oldest first", first: "The oldest" },
  run_at: { sorted: "the next one first", first: "The next" },
  started_at: { sorted: "the longest run first", first: "The longest runs:" },
  finished_at: { sorted: "last ended first", first: "The last to end:" },
};

interface MoreProps {
  readonly shown: number;
  readonly list: Pages;
  readonly order: Order;
  /** How far back a search without an index has looked. */
  readonly searchedAfter: string | undefined;
}

function More({ shown, list, order, searchedAfter }: MoreProps): JSX.Element | null {
  if (shown === 0 && searchedAfter === undefined) return null;
  return (
    <p class={css["more"]}>
      <span role="status">
        {list.hasNextPage ? `${orders[order].first} ${count(shown)}` : `${count(shown)} in all`}
        {searchedAfter !== undefined && (
          <>
            , searched back to <Time at={searchedAfter} />
          </>
        )}
      </span>
      {list.hasNextPage &&
        (shown >= mostRows ? (
          <span>Narrow the filter to see the others.</span>
        ) : (
          <Button busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            {searchedAfter === undefined ? "Load more" : "Search further"}
          </Button>
        ))}
    </p>
  );
}

/** The rows with what the live stream says about them: a row changes in its place, no row moves. */
function useFinished(jobs: readonly JobRow[]): readonly JobRow[] {
  const [known, setKnown] = useState<ReadonlyMap<string, FinishedJob>>(new Map());
  const arrived = finished.value;
  useEffect(() => {
    if (arrived.length > 0)
      setKnown(
        (before) => new Map([...before, ...arrived.map((job) => [job.id, job] as const)].slice(-mostRows)),
      );
  }, [arrived]);
  return useMemo(
    () =>
      jobs.map((job) => {
        const end = job.finished_at === null ? known.get(job.id) : undefined;
        return end === undefined || runsAgain(job, end) ? job : ({ ...job, ...end } as JobRow);
      }),
    [jobs, known],
  );
}

/** Whether the row is newer than the end: a job that failed for good was made to run again. */
function runsAgain({ run_at, started_at }: JobRow, { status, finished_at }: FinishedJob): boolean {
  const newest = Math.max(...[run_at, started_at].map((at) => (at === null ? 0 : Date.parse(at))));
  return (status === "failed" || status === "dead") && newest > Date.parse(finished_at);
}

function toggleFocused(jobs: readonly JobRow[], toggle: (job: JobRow) => void): void {
  const id = document.activeElement?.closest("tr")?.dataset["id"];
  const job = jobs.find((each) => each.id === id) ?? jobs[0];
  if (job !== undefined) toggle(job);
}
