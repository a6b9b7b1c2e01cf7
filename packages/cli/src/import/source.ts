/**
 * What all sources of an import have in common. A source reads the waiting jobs and the cron entries of another queue,
 * and removes those that JobForge has taken over. It never touches running, failed or finished jobs.
 */
import type { MissedMode } from "@jobforge/sdk-ts";
import type pg from "pg";

export const sourceNames = ["pg-boss", "graphile-worker", "bullmq", "river"] as const;
export type SourceName = (typeof sourceNames)[number];

/** `delayed` runs later for the first time, `retrying` has failed before. */
export const waitingStates = ["waiting", "delayed", "retrying"] as const;
export type WaitingState = (typeof waitingStates)[number];

/** A waiting job, in the terms of JobForge. */
export interface SourceJob {
  readonly id: string;
  /**
   * When the source created it, as a text. Undefined if no other job ever has its id. Numbers begin again in another
   * database, and an application of BullMQ uses its own ids again.
   */
  readonly createdAt?: string | undefined;
  /** The name of its type in the source. */
  readonly name: string;
  readonly state: WaitingState;
  /** JSON text, which is passed on as it is. A parsed number could lose digits. Undefined if it is over 1 MiB. */
  readonly payload: string | undefined;
  readonly runAt: Date | undefined;
  /** Higher first. */
  readonly priority: number;
  /** How many executions are left. Undefined for the default of the type. */
  readonly attemptsLeft: number | undefined;
  readonly dedupeKey?: string | undefined;
  readonly concurrencyKey?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  /** Why JobForge cannot take it over. */
  readonly problem?: string | undefined;
}

/** A cron entry. It has an expression or an interval. */
export interface SourceSchedule {
  readonly name: string;
  readonly key: string;
  readonly cron?: string | undefined;
  readonly timezone?: string | undefined;
  readonly everyMs?: number | undefined;
  readonly payload: unknown;
  /** What the source does about times that passed while no worker was there. */
  readonly missed: MissedMode;
  readonly problem?: string | undefined;
}

/** The jobs of one name that an import does not touch. */
export interface LeftAlone {
  readonly name: string;
  readonly running: number;
  readonly failed: number;
}

export interface Census {
  /** How many jobs wait, for the progress. */
  readonly waiting: number;
  readonly left: readonly LeftAlone[];
}

/**
 * Takes over jobs or cron entries, and returns those that the source may remove. `client` is the source's transaction
 * if the source is in JobForge's own database: the work then commits together with the removal.
 */
export type TakeOver<Item> = (
  items: readonly Item[],
  client: pg.ClientBase | undefined,
) => Promise<readonly Item[]>;

export interface Source extends AsyncDisposable {
  census(): Promise<Census>;
  /**
   * Reads up to `limit` waiting jobs after the previous call, and removes what `work` returns. Resolves with the number
   * of jobs that it has read; 0 at the end.
   */
  next(limit: number, work: TakeOver<SourceJob>): Promise<number>;
  /** Reads all cron entries, and removes those that `work` returns. */
  schedules(work: TakeOver<SourceSchedule>): Promise<void>;
}

/** Where a source is, and which part of it is wanted. */
export interface SourceOptions {
  /** The URL of the source, if it is not in JobForge's own database. */
  readonly from: string | undefined;
  /** The URL of JobForge's database. */
  readonly databaseUrl: string;
  /** The schema of its tables, or the prefix of its keys. Undefined for the default of the source. */
  readonly schema: string | undefined;
  /** Only these names. */
  readonly types: readonly string[] | undefined;
  /** The text of a crontab, for a source that has its cron entries in a file. */
  readonly crontab: string | undefined;
  /** Only read: lock nothing and remove nothing. */
  readonly readOnly: boolean;
}
