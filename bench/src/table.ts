/** Formats tables, lists and numbers. */

/** Formats a table for a terminal. The first column is aligned left, the others right. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd();
  return [line(head), widths.map((width) => "─".repeat(width)).join("  "), ...rows.map(line)].join("\n");
}

/** Formats an item of a Markdown list, wrapped at 120 characters like all prose of the documentation. */
export function listItem(text: string): string {
  return `- ${linesOf(text, 118).join("\n  ")}`;
}

/** Formats a paragraph of Markdown, wrapped at 120 characters. */
export function wrapped(text: string): string {
  return linesOf(text, 120).join("\n");
}

function linesOf(text: string, width: number): readonly string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = `${lines.at(-1)}${lines.at(-1) === "" ? "" : " "}${word}`;
    if (line.length > width) lines.push(word);
    else lines[lines.length - 1] = line;
  }
  return lines;
}

/** Formats 12345.6 as "12,346". Numbers below 100 keep one or two decimals, those below 0.1 two significant digits. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) < 0.1) return value.toLocaleString("en-US", { maximumSignificantDigits: 2 });
  const digits = value < 10 ? 2 : value < 100 ? 1 : 0;
  return value.toLocaleString("en-US", { maximumFractionDigits: digits });
}
