/** The errors of calls that should be refused. */
import { MigrationError } from "@jobforge/sql";
import { expect } from "vitest";

/** Returns the SQLSTATE or code of the error of a call, or "accepted" if it succeeds. */
export async function outcome(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "accepted";
  } catch (error) {
    if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
    throw error;
  }
}

/** Returns the MigrationError that refuses a migration. */
export async function refusal(migration: Promise<unknown>): Promise<MigrationError> {
  const error: unknown = await migration.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(MigrationError);
  return error as MigrationError;
}
