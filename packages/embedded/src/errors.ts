/**
 * Guarantees that every failure a caller can act on has a code to branch on and a hint for people.
 * Neither message nor hint ever holds the password.
 */

export type EmbeddedPostgresErrorCode =
  | "already_running"
  | "port_taken"
  | "binaries_missing"
  | "unreadable"
  | "start_failed"
  | "stop_failed"
  | "foreign_data"
  | "password_missing"
  | "user_unknown"
  | "invalid_option";

export class EmbeddedPostgresError extends Error {
  override readonly name: string = "EmbeddedPostgresError";
  readonly code: EmbeddedPostgresErrorCode;
  /** What to do about it. */
  readonly hint: string;

  constructor(code: EmbeddedPostgresErrorCode, message: string, hint: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.hint = hint;
  }
}

/** The `code` of a Node system error such as `ENOENT`, or undefined. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
