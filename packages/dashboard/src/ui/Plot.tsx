/** Draws lines over time on a canvas. In a file of its own, so that uPlot is loaded only where there is a chart. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { clock } from "../lib/time.ts";
import { theme, zone } from "../state/settings.ts";
import css from "./Chart.module.css";

export type Unit = "jobs" | "ms";

export interface PlotProps {
  readonly starts: readonly number[];
  readonly lines: readonly {
    readonly name: string;
    readonly color: string;
    readonly isDashed?: boolean;
    readonly values: readonly (number | null)[];
  }[];
  readonly format: (value: number) => string;
  /** What is counted decides where the lines of the grid are. */
  readonly unit: Unit;
  readonly marks: readonly { readonly at: number }[];
  /** The step under the pointer, or undefined. */
  readonly onPoint: (index: number | undefined) => void;
}

const height = 170;
const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
/** Distances of the grid that people read easily. */
const distances: Readonly<Record<Unit, number[]>> = {
  jobs: [1, 2, 5]
    .flatMap((digit) => [0, 1, 2, 3, 4, 5, 6, 7, 8].map((power) => digit * 10 ** power))
    .sort((a, b) => a - b),
  ms: [
    ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
    ...[1, 2, 5, 10, 20, 30].map((each) => each * second),
    ...[1, 2, 5, 10, 20, 30].map((each) => each * minute),
    ...[1, 2, 6, 12, 24, 48, 240].map((each) => each * hour),
  ],
};

export function Plot({ starts, lines, format, unit, marks, onPoint }: PlotProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const data: uPlot.AlignedData = [
    starts.map((start) => start / 1000),
    ...lines.map(({ values }) => [...values]),
  ];
  const names = lines.map(({ name }) => name).join();
  useEffect(() => {
    const at = place.current;
    if (at === null) return;
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsOf(at, { starts, lines, format, unit, marks, onPoint }), data, at);
    };
    draw();
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: at.clientWidth, height }));
    resized.observe(at);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", draw);
    return () => {
      resized.disconnect();
      scheme.removeEventListener("change", draw);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [names, marks, theme.value, zone.value]);
  useEffect(() => plot.current?.setData(data), [starts, lines]);
  return <div ref={place} class={css["plot"]} aria-hidden="true" />;
}

function optionsOf(at: HTMLElement, { lines, format, unit, marks, onPoint }: PlotProps): uPlot.Options {
  const axis = {
    stroke: colorOf(at, "--ink-faint"),
    grid: { stroke: colorOf(at, "--line"), width: 1 },
    ticks: { show: false },
    font: `11px ${getComputedStyle(at).fontFamily}`,
  };
  const shownZone = zone.peek() === "utc" ? "utc" : "local";
  return {
    width: at.clientWidth,
    height,
    // The last label of the axis is as wide to the right of its line as to the left.
    padding: [8, 16, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.1)] } },
    axes: [
      {
        ...axis,
        size: 26,
        values: (_plot, times) => times.map((time) => labelOf(time * 1000, shownZone, times)),
      },
      { ...axis, size: 50, incrs: distances[unit], values: (_plot, values) => values.map(format) },
    ],
    series: [
      {},
      ...lines.map(({ color, isDashed }) => ({
        stroke: colorOf(at, color),
        width: isDashed ? 1.25 : 1.75,
        ...(isDashed && { dash: [4, 3] }),
        // A minute without runs has no length of runs: the line goes on to the next one.
        spanGaps: unit === "ms",
        // A value without neighbours has no line, so it is a dot that can be seen.
        points: { show: true, size: 7, fill: colorOf(at, color), filter: lonelyOf },
      })),
    ],
    hooks: {
      setCursor: [(chart) => onPoint(chart.cursor.idx ?? undefined)],
      drawAxes: [(chart) => drawMarks(chart, marks, colorOf(at, "--scheduled"))],
    },
  };
}

/** The places of the values that have no neighbour. */
function lonelyOf(chart: uPlot, series: number): number[] {
  const values = chart.data[series] ?? [];
  const has = (index: number): boolean => typeof values[index] === "number";
  return Array.from(values.keys()).filter((index) => has(index) && !has(index - 1) && !has(index + 1));
}

/** A dashed line at each moment at which something was changed. They are behind the values. */
function drawMarks(chart: uPlot, marks: PlotProps["marks"], color: string): void {
  const { ctx, bbox } = chart;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const { at } of marks) {
    const x = Math.round(chart.valToPos(at / 1000, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

/** Hours and minutes; days if the chart is longer than two days. */
function labelOf(ms: number, shown: "local" | "utc", times: readonly number[]): string {
  const length = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 86_400;
  const text = clock(ms, shown, 0);
  return length > 2 ? text.slice(5, 10) : text.slice(11, 16);
}

/** Custom properties are pairs of colours; a canvas needs the one that applies. */
function colorOf(at: HTMLElement, property: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(${property})`;
  at.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
