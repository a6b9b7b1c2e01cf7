/** The reason why a migration was refused, for programs. */
export type MigrationErrorCode =
  | "server_too_old"
  | "newer_jobforge"
  | "changed_migration"
  | "api_schema_differs"
  | "invalid_api_schema"
  | "insufficient_privilege"
  | "foreign_objects"
  | "locked";

/** A migration that was refused or rolled back. Nothing has changed in the database. `hint` says what to do. */
export class MigrationError extends Error {
  override readonly name: string = "MigrationError";
  readonly code: MigrationErrorCode;
  readonly hint: string;

  constructor(code: MigrationErrorCode, message: string, hint: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.hint = hint;
  }
}
