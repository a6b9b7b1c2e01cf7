/** Which rows a request asks for, by limit and offset or by the header Range, and how the response describes them. */
import { RequestError } from "../errors.ts";

export interface Window {
  readonly offset: number;
  readonly limit: number;
  /** The response must contain the total number of rows. */
  readonly countsAll: boolean;
}

export function windowOf(query: URLSearchParams, headers: Headers, maxRows: number): Window {
  const countsAll = /(^|[,;\s])count=(exact|planned|estimated)/.test(headers.get("prefer") ?? "");
  const range = /^(\d{1,9})-(\d{1,9})?$/.exec(headers.get("range") ?? "");
  const from = Number(range?.[1] ?? 0);
  const offset = numberOf(query, "offset") ?? from;
  const requested =
    numberOf(query, "limit") ?? (range?.[2] === undefined ? maxRows : Number(range[2]) - from + 1);
  if (requested < 0) throw notSatisfiable("The range ends before it begins");
  return { offset, limit: Math.min(requested, maxRows), countsAll };
}

/** The status and the Content-Range of a response. */
export function describeRange(
  { offset }: Window,
  rows: number,
  total: number | undefined,
): { status: 200 | 206; contentRange: string } {
  if (total !== undefined && offset > 0 && offset >= total)
    throw notSatisfiable(`An offset of ${offset} was requested, but there are only ${total} rows.`);
  const span = rows === 0 ? "*" : `${offset}-${offset + rows - 1}`;
  return {
    status: total !== undefined && rows < total ? 206 : 200,
    contentRange: `${span}/${total ?? "*"}`,
  };
}

function numberOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^\d{1,9}$/.test(text))
    throw new RequestError(400, "PGRST100", `${name} must be a non-negative integer, not ${text}`);
  return Number(text);
}

function notSatisfiable(message: string): RequestError {
  return new RequestError(416, "PGRST103", "Requested range not satisfiable", { hint: message });
}
