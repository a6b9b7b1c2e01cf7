/** Depth, ends and times over the last hours, from the samples of each minute. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import { useMay } from "../../api/session.ts";
import { duration, plural, short } from "../../lib/format.ts";
import { type Mark, marksOf } from "../../lib/marks.ts";
import {
  aligned,
  type Line,
  ratesOf,
  type Sample,
  type Span,
  spans,
  startsOf,
  timesOf,
  valuesOf,
  withZeros,
} from "../../lib/series.ts";
import { Button } from "../../ui/Button.tsx";
import { Chart } from "../../ui/Chart.tsx";
import { Link } from "../../ui/Link.tsx";
import { Panel } from "../../ui/Panel.tsx";
import { Load } from "../../ui/States.tsx";
import { Time } from "../../ui/Time.tsx";
import css from "./Overview.module.css";

/** Entries about everything, such as pauses and limits, are kept under this id. */
const allTenants = "ffffffff-ffff-ffff-ffff-ffffffffffff";

const startOf = (span: Span): string => new Date(Date.now() - spans[span].minutes * 60_000).toISOString();

export interface SeriesOptions {
  /** Of this type only. Undefined: of all types together. */
  readonly type?: string | undefined;
  readonly isAsked?: boolean;
  readonly everyMs: number;
}

export const useSeries = (span: Span, { type, isAsked = true, everyMs }: SeriesOptions) =>
  useQuery({
    queryKey: ["series", span, type ?? null],
    queryFn: () => {
      const query = { from: startOf(span), step: `${spans[span].step}m`, ...(type && { type: [type] }) };
      return bodyOf(api.GET("/v1/series", { params: { query } }));
    },
    enabled: isAsked,
    refetchInterval: everyMs,
    placeholderData: (before) => before,
  });

/** What was changed for all tenants. Entries of single tenants would be too many. */
const useMarks = (span: Span, type: string | undefined): readonly Mark[] => {
  const may = useMay();
  const { data } = useQuery({
    queryKey: ["audit", "marks", span],
    queryFn: () => {
      const query = { tenant_id: allTenants, after: startOf(span), limit: 200 };
      return bodyOf(api.GET("/v1/audit", { params: { query } }));
    },
    enabled: may("list_audit"),
    placeholderData: (before) => before,
  });
  return useMemo(() => marksOf(data?.items ?? [], type), [data, type]);
};

interface ChartsProps {
  readonly span: Span;
  readonly onSpan: (span: Span) => void;
  readonly everyMs: number;
  /** Of this type only. */
  readonly type?: string;
  /** No sample of the type means that it had no jobs. With very many types, some are sampled together. */
  readonly hasZeros?: boolean;
}

export function Charts({ span, onSpan, everyMs, type, hasZeros = false }: ChartsProps): JSX.Element {
  const series = useSeries(span, { type, everyMs });
  const all = useSeries(span, { isAsked: hasZeros, everyMs });
  const marks = useMarks(span, type);
  return (
    <Panel
      title="Over time"
      actions={(Object.keys(spans) as Span[]).map((each) => (
        <Button key={each} pressed={each === span} onClick={() => onSpan(each)}>
          {spans[each].label}
        </Button>
      ))}
    >
      <Load query={series} rows={6}>
        {({ items }) => (
          <Lines samples={items} all={hasZeros ? all.data?.items : undefined} span={span} marks={marks} />
        )}
      </Load>
    </Panel>
  );
}

interface LinesProps {
  readonly samples: readonly Sample[];
  /** The samples of all types together, if `samples` are of one type. */
  readonly all: readonly Sample[] | undefined;
  readonly span: Span;
  readonly marks: readonly Mark[];
}

function Lines({ samples, all, span, marks }: LinesProps): JSX.Element {
  const { starts, depth, ends, times } = useMemo(() => linesOf(samples, all, span), [samples, all, span]);
  const common = { starts, marks };
  return (
    <>
      <div class={css["charts"]}>
        <Chart title="Jobs that are due and run" {...common} lines={depth} format={short} unit="jobs" />
        <Chart title="Runs that ended, per minute" {...common} lines={ends} format={short} unit="jobs" />
        <Chart title="How long jobs wait and run" {...common} lines={times} format={duration} unit="ms" />
      </div>
      {marks.length > 0 && <Marks marks={marks} />}
    </>
  );
}

const mostMarks = 5;

/** The marks of the charts in words, the newest first. */
function Marks({ marks }: { marks: readonly Mark[] }): JSX.Element {
  const newest = [...marks].reverse();
  return (
    <section class={css["marks"]} aria-labelledby="marks">
      <h3 id="marks">What was changed meanwhile</h3>
      <ol>
        {newest.slice(0, mostMarks).map(({ id, at, words, actor }) => (
          <li key={id}>
            <Time at={new Date(at).toISOString()} /> {words} <span>by {actor}</span>
          </li>
        ))}
      </ol>
      {newest.length > mostMarks && (
        <p>
          and {plural(newest.length - mostMarks, "change")} before: see the <Link to="/audit">audit log</Link>
        </p>
      )}
    </section>
  );
}

interface AllLines {
  readonly starts: readonly number[];
  readonly depth: readonly Line[];
  readonly ends: readonly Line[];
  readonly times: readonly Line[];
}

function linesOf(samples: readonly Sample[], all: readonly Sample[] | undefined, span: Span): AllLines {
  const starts = startsOf(span, Date.now());
  const own = aligned(samples, starts);
  const rows = all === undefined ? own : withZeros(own, aligned(all, starts));
  return {
    starts,
    depth: [
      { name: "Due", color: "--queued", values: valuesOf(rows, "due") },
      { name: "Running", color: "--running", values: valuesOf(rows, "running") },
    ],
    ends: [
      { name: "Succeeded", color: "--succeeded", values: ratesOf(rows, ["succeeded"], span) },
      { name: "Failed", color: "--dead", values: ratesOf(rows, ["failed"], span) },
    ],
    times: timesOf((field) => valuesOf(rows, field)),
  };
}
