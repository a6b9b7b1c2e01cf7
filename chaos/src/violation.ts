/** Something that must not happen, and did. */
export interface Violation {
  /** The check that found it. */
  readonly check: string;
  readonly what: string;
  /** The job it is about, whose history is shown. */
  readonly job?: string | undefined;
}
