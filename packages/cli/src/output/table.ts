/** Tables for people: aligned and, in a terminal, cut to its width. */
import type { Style, Tone } from "./style.ts";
import { plain } from "./terminal.ts";

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string | number | undefined;
  readonly align?: "left" | "right";
  readonly tone?: (row: Row) => Tone | undefined;
  /** Whether the column becomes narrower if the terminal is too narrow. */
  readonly shrinks?: boolean;
}

const gap = "  ";
const narrowest = 8;

export function table<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { style, width }: { readonly style: Style; readonly width: number | undefined },
): string {
  const cells = rows.map((row) => columns.map((column) => text(column.value(row))));
  const widths = columns.map((column, index) =>
    Math.max(column.title.length, ...cells.map((line) => line[index]?.length ?? 0)),
  );
  if (width !== undefined) shrink(columns, widths, width);
  const line = (values: readonly string[], tone: (index: number) => Tone | undefined): string =>
    values
      .map((value, index) => {
        const padded = fit(value, widths[index] ?? 0, columns[index]?.align ?? "left");
        const chosen = tone(index);
        return chosen === undefined ? padded : style(chosen, padded);
      })
      .join(gap)
      .trimEnd();
  const header = line(
    columns.map((column) => column.title),
    () => "bold",
  );
  const body = cells.map((values, row) => {
    const source = rows[row];
    return line(values, (index) => (source === undefined ? undefined : columns[index]?.tone?.(source)));
  });
  return `${[header, ...body].join("\n")}\n`;
}

function shrink<Row>(columns: readonly Column<Row>[], widths: number[], available: number): void {
  let over = widths.reduce((sum, each) => sum + each + gap.length, -gap.length) - available;
  for (const [index, column] of columns.entries()) {
    const current = widths[index] ?? 0;
    if (!column.shrinks || over <= 0) continue;
    const next = Math.max(Math.min(current, Math.max(narrowest, column.title.length)), current - over);
    over -= current - next;
    widths[index] = next;
  }
}

function fit(value: string, width: number, align: "left" | "right"): string {
  const cut = value.length > width ? `${value.slice(0, Math.max(0, width - 1))}…` : value;
  return align === "right" ? cut.padStart(width) : cut.padEnd(width);
}

/** Returns one line, without control characters by which a job could manipulate the terminal. */
function text(value: string | number | undefined): string {
  return plain(String(value ?? ""));
}
