/** Turns the errors of drivers, of libraries around them and of HTTP servers into errors of the SDK. */
import {
  ConnectionError,
  DatabaseError,
  EndpointNotFoundError,
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
  StepConflictError,
  StepNotResolvableError,
  TenantRequiredError,
  TimeoutError,
  WorkflowLimitExceededError,
  WorkflowNotRetryableError,
  WorkflowNotRunningError,
} from "../errors.ts";
import { apiFunctions } from "./functions.ts";
import { refusedConnection } from "./refusals.ts";

/** An error of Postgres, as drivers and PostgREST pass it on. */
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
  JF011: WorkflowNotRunningError,
  JF012: WorkflowNotRetryableError,
  JF013: StepConflictError,
  JF014: WorkflowLimitExceededError,
  JF015: StepNotResolvableError,
  JF016: EndpointNotFoundError,
  "42501": ForbiddenError,
  "42883": NotInstalledError,
  "3F000": NotInstalledError,
  "42P01": NotInstalledError,
  "57014": TimeoutError,
};

/** Codes, in addition to class 08, of errors that may not occur on another connection or a little later. */
const lostConnection = new Set(["57P01", "57P02", "57P03", "57P05", "53300", "25006"]);
/**
 * Serialization failure, deadlock, lock timeout, full disk, out of memory, and plans or statements that a migration
 * made stale.
 */
const retryableCodes = new Set(["40001", "40P01", "55P03", "0A000", "26000", "53100", "53200"]);

export function fromSqlError(error: SqlError, cause: unknown): JobForgeError {
  const { name, field } = readDetail(error.detail);
  const hint = error.hint || missingRole(error.message) || statementHints[error.code];
  const details = { field: camelCased(field), hint, cause };
  const known = name === "not_updatable" ? NotUpdatableError : classes[error.code];
  // The hint of Postgres is about casts, which a caller of the SDK does not write.
  if (known === NotInstalledError) return new NotInstalledError(notInstalled(error.message), { cause });
  if (known !== undefined) return new known(error.message, { ...details, kind: name });
  if (error.code.startsWith("08") || lostConnection.has(error.code))
    return new ConnectionError(error.message, { code: error.code, cause });
  const refused = refusedConnection(error.code, error.message, cause);
  if (refused !== undefined) return refused;
  return new DatabaseError(error.message, {
    ...details,
    code: error.code,
    retryable: retryableCodes.has(error.code),
  });
}

/** The message of a call for which the database has no function, view or schema. */
export function notInstalled(reason: string): string {
  return `JobForge is not installed in this database, or is older than this client: ${reason}`;
}

const statementHints: Readonly<Record<string, string>> = {
  "25P02":
    "An earlier statement of the transaction failed. Roll the transaction back, and find that first error.",
};

/** What to grant, if Postgres itself has refused the call of a function. */
function missingRole(message: string): string | undefined {
  const [, name] = /^permission denied for (?:function|view) (jobforge_\w+)/.exec(message) ?? [];
  const callers = name === undefined ? undefined : apiFunctions.get(name)?.callers;
  if (callers === undefined || callers.length === 0) return undefined;
  const roles = callers.join(" or ");
  return `${name} needs the role ${roles}: grant ${callers.length > 1 ? "one of them" : "it"} to this login.`;
}

/** The SDK's error for an error of a Postgres driver or of a library around it. */
export function fromDriverError(error: unknown): JobForgeError {
  if (error instanceof JobForgeError) return error;
  const reasons = reasonsOf(error);
  // The innermost error is the driver's. Prisma's own codes also have the form of an SQLSTATE.
  const found = reasons.map(sqlErrorIn).findLast((each) => each !== undefined);
  if (found !== undefined) return fromSqlError(found, error);
  for (const reason of reasons) {
    const refused = refusedConnection(text(reason["code"]), text(reason["message"]) ?? "", error);
    if (refused !== undefined) return refused;
  }
  const network = reasons.find(isNetworkError);
  if (network !== undefined)
    return new ConnectionError(describe(network), { cause: error, hint: networkHint(network) });
  return new DatabaseError(describe(error), { code: "XX000", cause: error });
}

/** The error and its causes. Each library wraps the driver's error in its own way. */
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

/** `EPIPE` has the form of an SQLSTATE, but no SQLSTATE begins with E. */
function isSqlState(code: string): boolean {
  return /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code);
}

/** "Query read timeout" comes from `query_timeout`: the statement still runs, on a connection that may be dead. */
const networkMessages =
  /connection (terminated|timeout|ended|closed)|timeout exceeded|query read timeout|not queryable|closed the connection|socket|pool after calling end/i;

function isNetworkError(reason: Readonly<Record<string, unknown>>): boolean {
  const code = text(reason["code"]);
  return (
    (code !== undefined && /^E[A-Z_]+$/.test(code)) || networkMessages.test(text(reason["message"]) ?? "")
  );
}

function networkHint(reason: Readonly<Record<string, unknown>>): string | undefined {
  const code = reason["code"];
  if (code === "ECONNREFUSED")
    return "Check that Postgres is running, and the host and port in the database URL.";
  return code === "ENOTFOUND" || code === "EAI_AGAIN"
    ? "Check the host in the database URL. Percent-encode special characters in the password: @ is %40, / is %2F."
    : undefined;
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

/** The name of a field as callers of the SDK write it: `jobs[3].run_at` → `jobs[3].runAt`. */
function camelCased(field: string | undefined): string | undefined {
  return field?.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
