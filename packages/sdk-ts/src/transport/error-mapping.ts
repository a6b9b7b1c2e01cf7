/** Turns what drivers, libraries around them and HTTP servers throw into the SDK's errors. */
import {
  ConnectionError,
  DatabaseError,
  type ErrorDetails,
  ForbiddenError,
  InvalidArgumentError,
  InvalidScheduleError,
  InvalidStatusError,
  JobForgeError,
  JobLimitExceededError,
  JobNotHeldError,
  NotCancelableError,
  NotInstalledError,
  NotReschedulableError,
  NotUpdatableError,
  PayloadTooLargeError,
  ScheduleNotFoundError,
  TenantRequiredError,
  TimeoutError,
} from "../errors.ts";

/** What Postgres says about an error, as drivers and PostgREST hand it on. */
export interface SqlError {
  readonly code: string;
  readonly message: string;
  readonly detail?: string | undefined;
  readonly hint?: string | undefined;
}

type ErrorClass = new (message: string, details: ErrorDetails) => JobForgeError;

const classes: Readonly<Record<string, ErrorClass>> = {
  JF001: TenantRequiredError,
  JF002: InvalidArgumentError,
  JF003: JobNotHeldError,
  JF004: InvalidStatusError,
  JF005: NotCancelableError,
  JF006: NotReschedulableError,
  JF007: JobLimitExceededError,
  JF008: PayloadTooLargeError,
  JF009: InvalidScheduleError,
  JF010: ScheduleNotFoundError,
  "42501": ForbiddenError,
  "42883": NotInstalledError,
  "3F000": NotInstalledError,
  "42P01": NotInstalledError,
  "57014": TimeoutError,
};

/** Codes beside class 08 that mean: another connection, or the same one a little later, may do. */
const lostConnection = new Set(["57P01", "57P02", "57P03", "57P05", "53300", "25006"]);
/** The server is there and refuses this login or database: nothing changes by trying again. */
const refusedConnection = new Set(["28000", "28P01", "3D000"]);
/** Serialisation failure, deadlock, lock timeout, and plans or statements that a migration made stale. */
const worthRepeating = new Set(["40001", "40P01", "55P03", "0A000", "26000", "53100", "53200"]);

export function fromSqlError(error: SqlError, cause: unknown): JobForgeError {
  const { name, field } = readDetail(error.detail);
  const details = { field: camelCased(field), hint: error.hint || undefined, cause };
  const known = name === "not_updatable" ? NotUpdatableError : classes[error.code];
  if (known !== undefined) return new known(error.message, { ...details, kind: name });
  if (error.code.startsWith("08") || lostConnection.has(error.code))
    return new ConnectionError(error.message, { code: error.code, cause });
  if (refusedConnection.has(error.code))
    return new ConnectionError(error.message, { code: error.code, retryable: false, cause });
  return new DatabaseError(error.message, {
    ...details,
    code: error.code,
    retryable: worthRepeating.has(error.code),
  });
}

/** The SDK's error for whatever a Postgres driver, or a library around it, threw. */
export function fromDriverError(error: unknown): JobForgeError {
  if (error instanceof JobForgeError) return error;
  const reasons = reasonsOf(error);
  // The innermost is the driver's: Prisma's own codes have the form of an SQLSTATE, too.
  const found = reasons.map(sqlErrorIn).findLast((each) => each !== undefined);
  if (found !== undefined) return fromSqlError(found, error);
  const network = reasons.find(isNetworkError);
  if (network !== undefined) return new ConnectionError(describe(network), { cause: error });
  return new DatabaseError(describe(error), { code: "XX000", cause: error });
}

/** The error and what it was caused by: libraries wrap the driver's error, each in its own way. */
function reasonsOf(error: unknown): readonly Record<string, unknown>[] {
  const found: Record<string, unknown>[] = [];
  const waiting: unknown[] = [error];
  while (waiting.length > 0 && found.length < 10) {
    const next = waiting.shift();
    if (typeof next !== "object" || next === null) continue;
    const reason = next as Record<string, unknown>;
    found.push(reason);
    waiting.push(reason["cause"], reason["meta"], reason["driverAdapterError"], reason["originalError"]);
  }
  return found;
}

function sqlErrorIn(reason: Readonly<Record<string, unknown>>): SqlError | undefined {
  const code = reason["originalCode"] ?? reason["code"];
  if (typeof code !== "string" || !isSqlState(code)) return undefined;
  return {
    code,
    message: text(reason["originalMessage"]) ?? text(reason["message"]) ?? "The database refused the call",
    detail: text(reason["detail"]),
    hint: text(reason["hint"]),
  };
}

/** `EPIPE` has the form of an SQLSTATE, but no class begins with E. */
function isSqlState(code: string): boolean {
  return /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code);
}

/** "Query read timeout" is that of `query_timeout`: the statement is still under way on a connection that may be dead. */
const networkMessages =
  /connection (terminated|timeout|ended|closed)|timeout exceeded|query read timeout|not queryable|closed the connection|socket|pool after calling end/i;

function isNetworkError(reason: Readonly<Record<string, unknown>>): boolean {
  const code = text(reason["code"]);
  return (
    (code !== undefined && /^E[A-Z_]+$/.test(code)) || networkMessages.test(text(reason["message"]) ?? "")
  );
}

function describe(error: unknown): string {
  const message =
    typeof error === "object" && error !== null ? text((error as { message?: unknown }).message) : undefined;
  const code =
    typeof error === "object" && error !== null ? text((error as { code?: unknown }).code) : undefined;
  return message || code || String(error);
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The kernel's DETAIL is JSON {name, field?}; errors of Postgres itself have other texts there. */
function readDetail(detail: string | undefined): { name?: string | undefined; field?: string | undefined } {
  if (detail === undefined || !detail.startsWith("{")) return {};
  try {
    const { name, field } = JSON.parse(detail) as { name?: unknown; field?: unknown };
    return { name: text(name), field: text(field) };
  } catch {
    return {};
  }
}

/** `jobs[3].run_at` → `jobs[3].runAt`: fields are named as the SDK's callers write them. */
function camelCased(field: string | undefined): string | undefined {
  return field?.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
