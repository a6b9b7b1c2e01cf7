/** A chart of lines over time, with its values in words, and the same numbers as a table. */
import type { JSX } from "preact";
import { lazy, Suspense } from "preact/compat";
import { useId, useState } from "preact/hooks";
import type { Line } from "../lib/series.ts";
import css from "./Chart.module.css";
import { Empty, Skeleton } from "./States.tsx";
import { Table } from "./Table.tsx";
import { Time } from "./Time.tsx";

const Plot = lazy(async () => ({ default: (await import("./Plot.tsx")).Plot }));

interface ChartProps {
  readonly title: string;
  readonly starts: readonly number[];
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  readonly unit: "jobs" | "ms";
  /** Moments at which something was changed. */
  readonly marks?: readonly { readonly at: number }[];
}

export function Chart({ title, starts, lines, format, unit, marks = [] }: ChartProps): JSX.Element {
  const [pointed, setPointed] = useState<number>();
  const [isTable, setTable] = useState(false);
  const heading = useId();
  const shown = pointed ?? lastWithValue(lines);
  const isEmpty = lines.every(({ values }) => values.every((value) => value === null));
  return (
    <section class={css["chart"]} aria-labelledby={heading}>
      <header>
        <h3 id={heading}>{title}</h3>
        <button type="button" class={css["toggle"]} aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          Show as table
        </button>
      </header>
      <ul class={css["legend"]}>
        {lines.map(({ name, color, isDashed, values }) => (
          <li key={name}>
            <svg aria-hidden="true" viewBox="0 0 12 4" width="12" height="4">
              <path
                d="M0 2h12"
                stroke-dasharray={isDashed ? "3 2" : undefined}
                style={{ stroke: `var(${color})` }}
              />
            </svg>
            {name} <b>{textOf(values[shown], format)}</b>
          </li>
        ))}
        <li class={css["at"]}>{pointed !== undefined && <At ms={starts[pointed]} />}</li>
      </ul>
      {isEmpty ? (
        <Empty title="No samples yet">
          <p>A sample is taken each minute while a worker runs.</p>
        </Empty>
      ) : isTable ? (
        <Numbers title={title} starts={starts} lines={lines} format={format} />
      ) : (
        <Suspense fallback={<Skeleton rows={4} />}>
          <Plot
            starts={starts}
            lines={lines}
            format={format}
            unit={unit}
            marks={marks}
            onPoint={setPointed}
          />
        </Suspense>
      )}
    </section>
  );
}

function At({ ms }: { ms: number | undefined }): JSX.Element | null {
  return ms === undefined ? null : <Time at={new Date(ms).toISOString()} />;
}

/** Without a pointer, the legend has the newest values. */
function lastWithValue(lines: readonly Line[]): number {
  return Math.max(0, ...lines.map(({ values }) => values.findLastIndex((value) => value !== null)));
}

function textOf(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? "–" : format(value);
}

function Numbers({ title, starts, lines, format }: Omit<ChartProps, "unit" | "marks">): JSX.Element {
  const rows = starts
    .map((start, index) => ({ start, index }))
    .filter(({ index }) => lines.some(({ values }) => values[index] !== null))
    .reverse();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard.
    <section class={css["numbers"]} tabIndex={0} aria-label={`${title}, as a table`}>
      <Table
        caption={title}
        rows={rows}
        keyOf={({ start }) => String(start)}
        columns={[
          { title: "Time", kind: "short", cell: ({ start }) => <At ms={start} /> },
          ...lines.map(({ name, values }) => ({
            title: name,
            kind: "number" as const,
            cell: ({ index }: { index: number }) => textOf(values[index], format),
          })),
        ]}
      />
    </section>
  );
}
