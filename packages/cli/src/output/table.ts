/** Tables for people: aligned and, in a terminal, never wider than the terminal. */
import type { Style, Tone } from "./style.ts";
import { plain } from "./terminal.ts";

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string | number | undefined;
  readonly align?: "left" | "right";
  readonly tone?: (row: Row) => Tone | undefined;
  /**
   * What happens to the column if the terminal is too narrow: `first` is cut before all others, `away` is left out
   * after that, and `true` is cut last, as far as it stays readable. Other columns keep their width.
   */
  readonly shrinks?: boolean | "first" | "away";
  /**
   * The column is not cut below this width as long as another one can be left out. Columns that are `away` are cut to
   * it before they are left out.
   */
  readonly least?: number;
  /** The column is left out if no row has a value. */
  readonly optional?: boolean;
  /** Which end of a value is cut. The start of an id is a time, and many ids have the same start. */
  readonly cut?: "start" | "end";
}

const gap = "  ";
/** What is left of columns that are cut first, and of those whose values must stay readable. */
const narrowest = 8;
const readable = 16;

/** A column with its texts and its width. */
interface Placed<Row> {
  readonly column: Column<Row>;
  readonly cells: readonly string[];
  /** The width of its longest text. */
  readonly full: number;
  width: number;
}

export function table<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { style, width }: { readonly style: Style; readonly width: number | undefined },
): string {
  const filled = columns.filter(
    ({ optional, value }) => optional !== true || rows.some((row) => value(row) !== undefined),
  );
  const all = filled.map((column) => {
    const cells = rows.map((row) => text(column.value(row)));
    const full = Math.max(column.title.length, ...cells.map((cell) => cell.length));
    return { column, cells, full, width: full };
  });
  const shown = width === undefined ? all : narrowed(all, width);
  const line = (
    value: (placed: Placed<Row>) => string,
    tone: (column: Column<Row>) => Tone | undefined,
  ): string =>
    shown
      .map((placed) => {
        const padded = fit(value(placed), placed);
        const chosen = tone(placed.column);
        return chosen === undefined ? padded : style(chosen, padded);
      })
      .join(gap)
      .trimEnd();
  const header = line(
    ({ column }) => column.title,
    () => "bold",
  );
  const body = rows.map((row, index) =>
    line(
      ({ cells }) => cells[index] ?? "",
      (column) => column.tone?.(row),
    ),
  );
  return `${[header, ...body].join("\n")}\n`;
}

/** Returns the columns that a terminal has room for, with their widths. No row is wider than the terminal. */
function narrowed<Row>(all: readonly Placed<Row>[], available: number): readonly Placed<Row>[] {
  let shown = all;
  const over = (): number =>
    shown.reduce((sum, { width }) => sum + width + gap.length, -gap.length) - available;
  /** The rightmost columns are the first to become narrower. */
  const cut = (which: Column<Row>["shrinks"], least: (placed: Placed<Row>) => number): void => {
    for (const placed of shown.toReversed())
      if (placed.column.shrinks === which && over() > 0)
        placed.width = Math.max(Math.min(placed.width, least(placed)), placed.width - over());
  };
  /** Columns that were cut get the room of those that were left out. */
  const grow = (which: Column<Row>["shrinks"]): void => {
    for (const placed of shown.toReversed())
      if (placed.column.shrinks === which && over() < 0)
        placed.width = Math.min(placed.full, placed.width - over());
  };
  const omit = (may: (placed: Placed<Row>) => boolean): void => {
    for (const placed of shown.toReversed())
      if (may(placed) && over() > 0 && shown.length > 1) shown = shown.filter((each) => each !== placed);
  };
  if (over() > 0)
    shown = shown.filter(({ column, cells }) => !column.shrinks || cells.some((cell) => cell !== ""));
  cut("first", ({ column }) => column.least ?? narrowest);
  cut("away", ({ column, full }) => column.least ?? full);
  omit(({ column }) => column.shrinks === "away");
  cut("first", () => narrowest);
  cut(true, () => readable);
  omit(({ column }) => column.shrinks === "first");
  cut(true, () => narrowest);
  omit(() => true);
  for (const which of [true, "first", "away"] as const) grow(which);
  const [only] = shown;
  if (only !== undefined && over() > 0) only.width = Math.max(1, available);
  return shown;
}

function fit<Row>(value: string, { column, width }: Placed<Row>): string {
  const cut = value.length <= width ? value : shortened(value, width, column.cut ?? "end");
  return column.align === "right" ? cut.padStart(width) : cut.padEnd(width);
}

function shortened(value: string, width: number, end: "start" | "end"): string {
  const kept = Math.max(0, width - 1);
  return end === "end" ? `${value.slice(0, kept)}…` : `…${kept === 0 ? "" : value.slice(-kept)}`;
}

/** Returns one line, without control characters by which a job could manipulate the terminal. */
function text(value: string | number | undefined): string {
  return plain(String(value ?? ""));
}
