/** Turns whatever went wrong into a message for people, a name for programs and an exit code. */
import { EmbeddedPostgresError } from "@jobforge/embedded";
import { MigrationError } from "@jobforge/sql";

export class UsageError extends Error {
  override readonly name: string = "UsageError";
}

export interface Failure {
  readonly name: string;
  readonly message: string;
  readonly hint: string;
  readonly exitCode: number;
}

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

export function explainFailure(error: unknown): Failure {
  if (error instanceof UsageError || hasCode(error, /^ERR_PARSE_ARGS/)) {
    return { name: "usage", message: messageOf(error), hint: "Run jobforge --help.", exitCode: 2 };
  }
  if (error instanceof MigrationError && error.code === "invalid_api_schema") {
    return { name: error.code, message: error.message, hint: error.hint, exitCode: 2 };
  }
  if (error instanceof MigrationError || error instanceof EmbeddedPostgresError) {
    return { name: error.code, message: error.message, hint: error.hint, exitCode: 1 };
  }
  if (isConnectionTrouble(error)) {
    return {
      name: "no_connection",
      message: `No connection to the database: ${messageOf(error)}`,
      hint: "Check --database-url or DATABASE_URL, and that the server is up.",
      exitCode: 3,
    };
  }
  return { name: "failed", message: messageOf(error), hint: "", exitCode: 1 };
}

function isConnectionTrouble(error: unknown): boolean {
  // A host with several addresses fails with one error for each.
  if (error instanceof AggregateError) return error.errors.some(isConnectionTrouble);
  return codeOf(error) !== undefined && connectionCodes.has(codeOf(error) ?? "");
}

function hasCode(error: unknown, pattern: RegExp): boolean {
  return pattern.test(codeOf(error) ?? "");
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
