/** A broken promise that a check has found. */
export interface Violation {
  /** The name of the check that found it. */
  readonly check: string;
  readonly what: string;
  /** The job it is about. The report shows its history. */
  readonly job?: string | undefined;
}
