/**
 * Cells of CSV that no spreadsheet runs as a formula. Python writes the same cells: conformance/connectors.json.
 *
 * Where the comma is a decimal sign, spreadsheets separate cells by semicolons, whatever this file says. There the
 * quotes of a cell that is not the first of its line have no meaning: its semicolons, tabs and line breaks begin a cell
 * or a line. So what would be a formula after one of them is escaped as well as a formula at the beginning.
 */

/** White space and characters of no width, which spreadsheets skip. The same list in every language. */
const blanks = "\\0- \\x7F-\\xA0\\u1680\\u2000-\\u200F\\u2028\\u2029\\u202F\\u205F\\u3000\\uFEFF";
/** Characters with which a formula begins, also in their full-width forms. */
const signs = "=+\\-@\\uFF1D\\uFF0B\\uFF0D\\uFF20";
const separators = ";\\t\\r\\n";

/** Drivers return amounts as texts: a negative one is no formula. */
const leading = new RegExp(`^(?!-[0-9]+(?:[.][0-9]+)?$)(?:[\\t\\r\\n]|[${blanks}]*[${signs}])`);
const later = new RegExp(`(?!-[0-9]+(?:[.][0-9]+)?(?:[${separators}]|$))[${signs}]`, "y");
/** A separator, and all that a spreadsheet may skip after it: each character is looked at once. */
const gaps = new RegExp(`[${separators}][${separators}${blanks}"]*`, "g");

const quoted = new RegExp(`[",\\r\\n]|^[${blanks}]|[${blanks}]$`);

/** A cell with its value as text. Raw cells are for programs, which run no formulas. */
export function csvCell(value: unknown, text: string, raw: boolean): string {
  const isNumber = typeof value === "number" || typeof value === "bigint";
  const safe = raw || isNumber ? text : withoutFormulas(text);
  return quoted.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function withoutFormulas(text: string): string {
  const escaped = text.replace(gaps, (gap, at: number) => {
    later.lastIndex = at + gap.length;
    return later.test(text) ? `${gap}'` : gap;
  });
  return leading.test(text) ? `'${escaped}` : escaped;
}
