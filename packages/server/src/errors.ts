/** The errors of a request and their statuses: in PostgREST's format under /rest/v1, and as problems under /v1. */
import { HTTPException } from "hono/http-exception";
import pg from "pg";

export interface Failure {
  /** An SQLSTATE, or one of PostgREST's own codes. */
  readonly code: string;
  readonly message: string;
  /** In errors of the kernel: JSON `{name, field?}`. */
  readonly details: string | null;
  readonly hint: string | null;
}

/** Refuses a request with the given status. */
export class RequestError extends Error {
  readonly status: number;
  readonly failure: Failure;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: string,
    message: string,
    more: { hint?: string; name?: string; field?: string; headers?: Record<string, string> } = {},
  ) {
    super(message);
    const { name, field } = more;
    const details =
      name === undefined ? null : JSON.stringify(field === undefined ? { name } : { name, field });
    this.status = status;
    this.failure = { code, message, details, hint: more.hint ?? null };
    this.headers = more.headers ?? {};
  }
}

/** The error for JSON with more levels than Postgres or this server can process. */
export function tooDeep(): RequestError {
  return new RequestError(400, "54001", "The request's JSON is nested too deeply", {
    name: "invalid_argument",
    hint: "Flatten it, or store it elsewhere and pass a reference.",
  });
}

/** The error for a value that is longer than a JavaScript string can be. */
function tooLong(): RequestError {
  return new RequestError(400, "54000", "The response is too large", {
    name: "response_too_large",
    hint: "Request fewer rows or columns.",
  });
}

/** PostgREST's statuses by SQLSTATE or its class. The longer key wins. */
const restStatuses: Readonly<Record<string, number>> = {
  "08": 503,
  "09": 500,
  "0L": 403,
  "0P": 403,
  "23503": 409,
  "23505": 409,
  "25006": 405,
  "25": 500,
  "28": 403,
  "2D": 500,
  "38": 500,
  "39": 500,
  "3B": 500,
  "40": 503,
  "42501": 403,
  "42883": 404,
  "42P01": 404,
  "42P17": 500,
  "53": 503,
  // PostgREST uses 500. But the caller asked for too much, such as 1700 columns, so this is the caller's error.
  "54": 400,
  "55": 503,
  "57014": 504,
  "57": 503,
  "58": 500,
  P0: 500,
  XX: 500,
};

/** Statuses of the kernel's errors under /v1, which are more precise than 400. */
const kernelStatuses: Readonly<Record<string, number>> = {
  JF003: 409,
  JF005: 409,
  JF006: 409,
  JF007: 429,
  JF008: 413,
  JF010: 404,
  JF011: 409,
  JF012: 409,
  JF013: 409,
  JF014: 413,
  JF015: 409,
  JF016: 404,
};

/** An error as a response: status, body and headers. */
export interface FailedResponse {
  readonly status: number;
  readonly failure: Failure;
  readonly headers: Readonly<Record<string, string>>;
}

/** The response for any thrown value. An unexpected error reveals no internal details. */
export function failureOf(error: unknown): FailedResponse {
  if (error instanceof RequestError)
    return { status: error.status, failure: error.failure, headers: error.headers };
  if (error instanceof pg.DatabaseError && error.code !== undefined) {
    const { code, message, detail = null, hint = null } = error;
    if (code === "54001") return failureOf(tooDeep());
    const status = restStatuses[code] ?? restStatuses[code.slice(0, 2)] ?? 400;
    // Messages and hints of the kernel are meant for callers. Details of internal errors go to the log only.
    const failure =
      status === 500 ? unexpected(code) : { code, message, details: detail, hint: hint || null };
    return { status, failure, headers: retryHeader(status) };
  }
  // Errors of Hono itself, such as a body that is not JSON.
  if (error instanceof HTTPException && error.status < 500)
    return failureOf(new RequestError(error.status, "PGRST102", error.message));
  if (isReadTimeout(error)) {
    const failure = { code: "57014", message: "The database does not respond", details: null, hint: null };
    return { status: 504, failure, headers: {} };
  }
  if (isTooLong(error)) return failureOf(tooLong());
  if (isConnectionError(error)) {
    const failure = {
      code: "PGRST000",
      message: "The database cannot be reached",
      details: null,
      hint: "Try again in a moment.",
    };
    return { status: 503, failure, headers: retryHeader(503) };
  }
  return { status: 500, failure: unexpected("XX000"), headers: {} };
}

/** The status of a failure under /v1. */
export function problemStatus({ status, failure }: FailedResponse): number {
  return kernelStatuses[failure.code] ?? status;
}

/** The failure as a problem of RFC 9457, with the kernel's code, name, field and hint. */
export function problemOf(failed: FailedResponse): object {
  const { code, message, details, hint } = failed.failure;
  const { name = defaultName(failed.status), field } = readDetails(details);
  return {
    type: `urn:jobforge:problem:${name}`,
    title: name.replaceAll("_", " "),
    status: problemStatus(failed),
    detail: message,
    code,
    name,
    ...(field === undefined ? {} : { field }),
    ...(hint === null ? {} : { hint }),
  };
}

function readDetails(details: string | null): { name?: string; field?: string } {
  try {
    const read: unknown = JSON.parse(details ?? "{}");
    if (typeof read !== "object" || read === null) return {};
    const texts = Object.entries(read).filter(([, value]) => typeof value === "string");
    return Object.fromEntries(texts) as { name?: string; field?: string };
  } catch {
    return {};
  }
}

const names: Readonly<Record<number, string>> = {
  400: "invalid_argument",
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  405: "method_not_allowed",
  413: "payload_too_large",
  429: "too_many_requests",
  503: "unavailable",
  504: "timeout",
};

function defaultName(status: number): string {
  return names[status] ?? "internal_error";
}

function unexpected(code: string): Failure {
  return {
    code,
    message: "An unexpected error occurred in the server",
    details: null,
    hint: "The server's log has the details.",
  };
}

/** How long a client should wait while the database is unavailable. */
const retryAfterSeconds = 1;

function retryHeader(status: number): Record<string, string> {
  return status === 503 ? { "retry-after": String(retryAfterSeconds) } : {};
}

/**
 * Whether the database accepted a statement and sent nothing back, not even a timeout: it hangs, or the network lost
 * it.
 */
export function isReadTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === "Query read timeout";
}

function isTooLong(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_STRING_TOO_LONG";
}

function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  if (typeof code === "string" && /^(E(?!RR_)|ERR_(SSL|TLS)_)[A-Z_]+$/.test(code)) return true;
  return /connection|timeout exceeded when trying to connect|not queryable|Client was closed/i.test(
    error.message,
  );
}
