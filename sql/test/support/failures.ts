/** What a call that should be refused was refused with. */
import { MigrationError } from "@jobforge/sql";
import { expect } from "vitest";

/** The SQLSTATE or code of the error a call ends with; "accepted" when it ends without one. */
export async function outcome(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "accepted";
  } catch (error) {
    if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
    throw error;
  }
}

/** The MigrationError a migration is refused with. */
export async function refusal(migration: Promise<unknown>): Promise<MigrationError> {
  const error: unknown = await migration.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(MigrationError);
  return error as MigrationError;
}
