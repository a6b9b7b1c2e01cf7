/** The input and the result of a check of `jobforge doctor`. */
import type { Health, TypeInfo, WorkerInfo } from "@jobforge/sdk-ts";
import { pinSession } from "@jobforge/sql";
import type pg from "pg";
import type { Connection } from "../connection.ts";

/** `skipped` means that the login may not read what the check needs. */
export type Verdict = "ok" | "warning" | "problem" | "skipped";

export interface Finding {
  readonly name: string;
  readonly verdict: Verdict;
  readonly message: string;
  /** Tells the user what to do about the problem. */
  readonly advice?: string | undefined;
  readonly details?: unknown;
}

export interface CheckContext extends Connection {
  /** One session, shared by all checks that need one. */
  readonly client: pg.PoolClient;
  /** The health report of the database, or undefined if the login may not read it. */
  readonly health: Health | undefined;
  readonly types: readonly TypeInfo[];
  readonly workers: readonly WorkerInfo[];
}

export interface Check {
  readonly name: string;
  run(context: CheckContext): Promise<Omit<Finding, "name">>;
}

/** Runs a query in a pinned transaction: the settings of the login's role do not matter. */
export async function query<T extends pg.QueryResultRow>(client: pg.PoolClient, text: string): Promise<T[]> {
  await client.query("begin read only");
  try {
    await client.query(pinSession);
    return (await client.query<T>(text)).rows;
  } finally {
    await client.query("rollback");
  }
}

/** The result of a check that needs the health report, if the login may not read it. */
export const notAllowed = {
  verdict: "skipped",
  message: "This login may not read the health report.",
  advice: "Run the doctor as a role with jobforge_operator or jobforge_reader.",
} as const;
