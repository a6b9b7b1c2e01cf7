/**
 * Guarantees that every failure a caller can act on has a code for programs and a hint for people.
 * Neither the message nor the hint ever contains the password.
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
  /** Tells the user what to do about the error. */
  readonly hint: string;

  constructor(code: EmbeddedPostgresErrorCode, message: string, hint: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.hint = hint;
  }
}

/** Returns the `code` of a Node system error such as `ENOENT`, or undefined. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
