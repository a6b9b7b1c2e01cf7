/** What a check of `jobforge doctor` is told, and what it answers. */
import type { Health, TypeInfo, WorkerInfo } from "@jobforge/sdk-ts";
import type pg from "pg";
import type { Connection } from "../connection.ts";

/** `skipped`: the login may not see what the check needs. */
export type Verdict = "ok" | "warning" | "problem" | "skipped";

export interface Finding {
  readonly name: string;
  readonly verdict: Verdict;
  readonly message: string;
  /** What to do about it. */
  readonly advice?: string | undefined;
  readonly details?: unknown;
}

export interface Patient extends Connection {
  /** One session for all checks that need one. */
  readonly client: pg.PoolClient;
  /** What the kernel says about itself; undefined when the login may not ask. */
  readonly health: Health | undefined;
  readonly types: readonly TypeInfo[];
  readonly workers: readonly WorkerInfo[];
}

export interface Check {
  readonly name: string;
  run(patient: Patient): Promise<Omit<Finding, "name">>;
}

/** What is answered when the kernel's own facts are needed and the login may not have them. */
export const notAllowed = {
  verdict: "skipped",
  message: "This login may not ask.",
  advice: "Run the doctor as a role with jobforge_operator or jobforge_reader.",
} as const;
