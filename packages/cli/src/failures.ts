/** Turns any error into a message for people, a name for programs and an exit code. */
import {
  ConnectionError,
  DatabaseError,
  EndpointNotFoundError,
  InvalidArgumentError,
  InvalidScheduleError,
  JobForgeError,
  NotInstalledError,
  ScheduleNotFoundError,
} from "@jobforge/sdk-ts";
import { MigrationError } from "@jobforge/sql";
import { CommanderError } from "commander";
import { codeOf, messageOf, NoConnectionError } from "./client.ts";

export class UsageError extends Error {
  override readonly name: string = "UsageError";
}

/** The named job, schedule, file or other item does not exist, or a file cannot be read or written. */
export class NotFoundError extends Error {
  override readonly name: string = "NotFoundError";
  readonly hint: string;
  constructor(message: string, hint = "") {
    super(message);
    this.hint = hint;
  }
}

/** The command cannot do its work, for a reason that the user can fix. */
export class CommandError extends Error {
  override readonly name: string = "CommandError";
  readonly code: string;
  readonly hint: string;
  constructor(code: string, message: string, hint: string) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

/** A Redis does not respond. */
export class NoRedisError extends Error {
  override readonly name: string = "NoRedisError";
  readonly hint: string;
  constructor(reason: unknown, hint: string) {
    super(`No connection to Redis: ${messageOf(reason)}`, { cause: reason });
    this.hint = hint;
  }
}

export interface Failure {
  readonly name: string;
  readonly message: string;
  readonly hint: string;
  readonly exitCode: number;
}

export const exitCodes = { ok: 0, failed: 1, usage: 2, noConnection: 3, notFound: 4 } as const;

const connectionCodes: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "EAI_AGAIN",
  "28P01",
  "28000",
  "3D000",
  "57P03",
]);

/** A table, schema, function or column does not exist. */
const notInstalledCodes: ReadonlySet<string> = new Set(["42P01", "3F000", "42883", "42703"]);

/** `command` is what the user ran, such as `jobforge schedules add`. */
export function explainFailure(error: unknown, command = "jobforge"): Failure {
  if (error instanceof UsageError || error instanceof CommanderError) {
    const message = messageOf(error).replace(/^error: /, "");
    return { name: "usage", message, hint: `Run ${command} --help.`, exitCode: exitCodes.usage };
  }
  if (error instanceof NotFoundError) {
    return { name: "not_found", message: error.message, hint: error.hint, exitCode: exitCodes.notFound };
  }
  if (error instanceof MigrationError && error.code === "invalid_api_schema") {
    return { name: error.code, message: error.message, hint: error.hint, exitCode: exitCodes.usage };
  }
  if (error instanceof MigrationError || error instanceof CommandError) {
    return { name: error.code, message: error.message, hint: error.hint, exitCode: exitCodes.failed };
  }
  if (error instanceof NoRedisError) {
    return { name: "no_redis", message: error.message, hint: error.hint, exitCode: exitCodes.noConnection };
  }
  if (isConnectionTrouble(error)) return noConnection(error);
  if (error instanceof NotInstalledError || notInstalledCodes.has(codeOf(error) ?? "")) {
    return {
      name: "not_installed",
      message: "JobForge is not installed in this database, or its version is older.",
      hint: "Run jobforge migrate. If JobForge's functions are not in the schema public, pass --api-schema.",
      exitCode: exitCodes.failed,
    };
  }
  if (isSqlError(error)) {
    return {
      name: error.code,
      message: `The database reported an error: ${error.message} (SQLSTATE ${error.code})`,
      hint: "jobforge doctor looks for problems of the database and its versions.",
      exitCode: exitCodes.failed,
    };
  }
  if (error instanceof JobForgeError) {
    return {
      name: error.kind ?? "failed",
      message: error.message,
      hint: inCommands(error.hint ?? ""),
      exitCode: exitCodeOf(error),
    };
  }
  return { name: "failed", message: messageOf(error), hint: "", exitCode: exitCodes.failed };
}

/** Hints of the kernel name functions. People who type commands need those. */
function inCommands(hint: string): string {
  return hint.replace(
    /^jobforge_list_webhook_endpoints .*/,
    "Pass its --tenant. To list endpoints: jobforge webhooks list --tenant ID",
  );
}

function exitCodeOf(error: JobForgeError): number {
  if (error instanceof ScheduleNotFoundError || error instanceof EndpointNotFoundError)
    return exitCodes.notFound;
  const isUsage = error instanceof InvalidArgumentError || error instanceof InvalidScheduleError;
  return isUsage ? exitCodes.usage : exitCodes.failed;
}

function noConnection(error: unknown): Failure {
  const reason = causesOf(error).find((each) => each instanceof NoConnectionError);
  return {
    name: "no_connection",
    message: `No connection to the database: ${messageOf(reason ?? error)}`,
    hint: reason?.hint ?? "Check --database-url or DATABASE_URL, and check that the server is running.",
    exitCode: exitCodes.noConnection,
  };
}

function isConnectionTrouble(error: unknown): boolean {
  // A host with several addresses fails with one error per address.
  if (error instanceof AggregateError) return error.errors.some(isConnectionTrouble);
  const isKnown = (each: unknown): boolean =>
    each instanceof ConnectionError || each instanceof NoConnectionError;
  return causesOf(error).some(isKnown) || connectionCodes.has(codeOf(error) ?? "");
}

/** The error and its causes: the SDK wraps the errors of the connection. */
function causesOf(error: unknown): readonly unknown[] {
  const found: unknown[] = [];
  for (let each = error; each instanceof Error && found.length < 10; each = each.cause) found.push(each);
  return found;
}

/** Whether it is an error of Postgres that JobForge has no name for. Its text is about tables and statements. */
function isSqlError(error: unknown): error is Error & { readonly code: string } {
  const isDatabaseError = error instanceof DatabaseError || (error instanceof Error && "severity" in error);
  return isDatabaseError && /^[0-9A-Z]{5}$/.test(codeOf(error) ?? "") && codeOf(error) !== "XX000";
}
