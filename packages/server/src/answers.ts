/**
 * The size of answers. A caller may ask for rows of any size, and the server holds a whole answer in memory. So the
 * database measures an answer before it sends it. One answer that is too large costs an error, not the process.
 */
import { RequestError } from "./errors.ts";

const mebibyte = 1024 * 1024;

/** The longest answer to a request that only reads: 16 MiB. */
const maxReadBytes = 16 * mebibyte;

/**
 * The longest answer of a function that writes: 256 MiB, which is more than any has. The kernel bounds a claim by
 * bytes. A claim that is refused here would be refused again and again.
 */
const maxWriteBytes = 256 * mebibyte;

/** The longest answer of a function or view. A string of Node has at most 512 MiB. */
export function maxBytesOf({ readsOnly }: { readonly readsOnly: boolean }): number {
  return readsOnly ? maxReadBytes : maxWriteBytes;
}

/**
 * A page of jobs ends before 8 MiB, and a job has at most 1.2 MiB (see `page_bytes` of the kernel). So a page with
 * fewer rows than its limit is the last one, unless its text is at least this long.
 */
export const cutPageBytes: number = 6 * mebibyte;

/** The rows of an answer. */
export interface Rows {
  /** The text of a JSON array. */
  readonly text: string;
  readonly bytes: number;
  readonly count: number;
  /** The id of the last row. Null if the rows have no id. */
  readonly last: string | null;
}

/**
 * A statement that returns `Rows`, and `isTooLarge`, for a query with two columns: `item`, the JSON text of a row, and
 * `id`. It stops to read rows when they have more than `most` bytes, and then returns none. `before` is a list of
 * common table expressions, `more` is a further column.
 */
export function rowsStatement(
  items: string,
  most: number,
  before: readonly string[] = [],
  more = "",
): string {
  const measured = `measured as materialized (
      select i.*, sum(octet_length(i.item)) over (rows unbounded preceding) as total from (${items} offset 0) i)`;
  return `
    with ${[...before, measured].join(", ")}
    select s."isTooLarge", a.*${more}
    from (
      select exists (select from measured m where m.total > ${most}) as "isTooLarge" offset 0
    ) s
    cross join lateral (
      select '[' || coalesce(string_agg(m.item, ','), '') || ']' as text, coalesce(max(m.total), 0)::int as bytes,
        count(*)::int as count, (array_agg(m.id))[count(*)] as last
      from measured m
      where not s."isTooLarge"
    ) a`;
}

/** The rows that a `rowsStatement` has returned. Throws if they are too large. */
export function readRows<T extends Rows>(
  [answer]: readonly (T & { readonly isTooLarge: boolean })[],
  most: number,
): T {
  if (answer === undefined || answer.isTooLarge) throw tooLarge(most);
  return answer;
}

/** A statement that returns `text`, the JSON text of a value, and `bytes`, its length. A text over `most` is null. */
export function valueStatement(from: string, most: number): string {
  return `
    select case when v.bytes <= ${most} then v.text end as text, v.bytes
    from (
      select t.text, octet_length(t.text) as bytes from (select to_json(f)::text as text from ${from} offset 0) t
    ) v`;
}

/** The value that a `valueStatement` has returned: its text, or null for SQL's null. Throws if it is too large. */
export function readValue(
  [row]: readonly { readonly text: string | null; readonly bytes: number | null }[],
  most: number,
): string | null {
  if (row !== undefined && row.text === null && row.bytes !== null) throw tooLarge(most);
  return row?.text ?? null;
}

function tooLarge(most: number): RequestError {
  const mebibytes = most / mebibyte;
  return new RequestError(400, "54000", "The answer is too large", {
    name: "answer_too_large",
    hint: `Ask for fewer rows with limit, or for fewer columns with select. An answer has at most ${mebibytes} MiB.`,
  });
}
