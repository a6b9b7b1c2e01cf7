/** A schedule, and how one is declared, as the SDK shows them. */

import type { Jsonified, OfTenant } from "../jobs/job.ts";
import type { MissedMode, OverlapMode, ScheduleKind, ScheduleOutcome } from "../words.ts";
import type { JobDefinition, JobInput } from "./definition.ts";

/** At the times of a cron expression. */
export interface CronRhythm {
  readonly cron: string;
  /** Whose clock it means, such as `Europe/Berlin`. Default `UTC`. */
  readonly timezone?: string | undefined;
  readonly every?: undefined;
  readonly dynamic?: undefined;
  readonly anchor?: undefined;
  readonly jitter?: undefined;
}

/** At whole intervals after an anchor. */
export interface IntervalRhythm {
  /** One second to 366 days, such as `5m` or `1h30m`. */
  readonly every: string;
  /** What intervals are counted from. Default: the first run. */
  readonly anchor?: Date | undefined;
  /** Each due time is up to this much later, by chance, such as `30s`. */
  readonly jitter?: string | undefined;
  readonly cron?: undefined;
  readonly timezone?: undefined;
  readonly dynamic?: undefined;
}

/** When the handler says, with `job.nextRun()`. */
export interface DynamicRhythm {
  readonly dynamic: true;
  readonly cron?: undefined;
  readonly timezone?: undefined;
  readonly every?: undefined;
  readonly anchor?: undefined;
  readonly jitter?: undefined;
}

/** When runs are due: one of the three. */
export type Rhythm = CronRhythm | IntervalRhythm | DynamicRhythm;

/** What all kinds of schedules share. */
export interface ScheduleSettings {
  /** Whether it runs. Default: a new one does, an existing one stays as it is. */
  readonly enabled?: boolean | undefined;
  /** What becomes of a due time that comes while a run lives. Default `skip`. */
  readonly overlap?: OverlapMode | undefined;
  /** What becomes of due times that no worker was there for. Default `once`. */
  readonly missed?: MissedMode | undefined;
  /** At most so many with `missed: "all"`, the last ones: 1 to 100, the default. */
  readonly missedLimit?: number | undefined;
  readonly startsAt?: Date | undefined;
  readonly endsAt?: Date | undefined;
  /** Whether a failed run is retried as its type's policy says, instead of leaving it to the next one. */
  readonly retryRuns?: boolean | undefined;
  /** Of each run, as are the others. Default: the job definition's. */
  readonly priority?: number | undefined;
  readonly maxAttempts?: number | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly subject?: string | undefined;
  readonly concurrencyKey?: string | undefined;
}

/** The input of each run. It may be left out where `{}` will do. */
export type PayloadOption<D extends JobDefinition> =
  Record<never, never> extends JobInput<D>
    ? { readonly payload?: JobInput<D> | undefined }
    : { readonly payload: JobInput<D> };

/** How a schedule is to be. */
export type ScheduleOptions<D extends JobDefinition = JobDefinition> = Rhythm &
  ScheduleSettings &
  PayloadOption<D> &
  OfTenant & {
    /** The next run, whatever the rhythm says; null: none. Without it an existing one keeps its own. */
    readonly nextRunAt?: Date | null | undefined;
    /** Finds the next run as for a new schedule. */
    readonly reset?: boolean | undefined;
  };

/** Changes of a schedule: what is not named stays, null is the default. */
export type ScheduleChanges<D extends JobDefinition = JobDefinition> = {
  readonly [K in Exclude<keyof ScheduleSettings, "enabled"> | "timezone" | "jitter"]?:
    | (ScheduleSettings & { timezone?: string; jitter?: string })[K]
    | null;
} & {
  readonly cron?: string | undefined;
  readonly every?: string | undefined;
  readonly dynamic?: true | undefined;
  readonly anchor?: Date | undefined;
  readonly enabled?: boolean | undefined;
  readonly payload?: JobInput<D> | undefined;
  readonly nextRunAt?: Date | null | undefined;
  readonly reset?: boolean | undefined;
};

/** What `defineSchedule` is given. */
export type ScheduleDefinitionOptions<D extends JobDefinition> = Rhythm &
  ScheduleSettings &
  PayloadOption<D> & {
    readonly job: D;
    /** What tells it from others of the tenant and type. */
    readonly key: string;
    /** Default: the global tenant. */
    readonly tenantId?: string | undefined;
  };

/** A schedule that code declares. `forge.sync()` brings the database in line with it. */
export interface ScheduleDefinition<D extends JobDefinition = JobDefinition> {
  readonly job: D;
  readonly key: string;
  readonly tenantId: string;
  readonly payload: unknown;
  readonly rhythm: Rhythm;
  readonly settings: ScheduleSettings;
}

export interface Schedule<D extends JobDefinition = JobDefinition> {
  readonly id: string;
  readonly tenantId: string;
  readonly type: D["type"];
  readonly key: string;
  readonly kind: ScheduleKind;
  readonly cron: string | undefined;
  readonly timezone: string | undefined;
  /** As Postgres writes an interval, such as `00:05:00`. */
  readonly every: string | undefined;
  readonly anchor: Date | undefined;
  readonly jitter: string | undefined;
  readonly enabled: boolean;
  /** The next due time; undefined when there is none. */
  readonly nextRunAt: Date | undefined;
  /** Since when a worker has its run. */
  readonly runningSince: Date | undefined;
  /** When the last run succeeded or failed. */
  readonly lastRunAt: Date | undefined;
  /** What that run was due for. */
  readonly lastScheduledFor: Date | undefined;
  readonly lastStatus: "succeeded" | "failed" | undefined;
  /** Of the last failure; undefined after a success. */
  readonly lastError: string | undefined;
  /** Since the last success. */
  readonly consecutiveFailures: number;
  /** Whether a run was asked for and has not been made yet. */
  readonly runRequested: boolean;
  /** Runs that wait or run. */
  readonly liveRuns: number;
  readonly overlap: OverlapMode;
  readonly missed: MissedMode;
  readonly missedLimit: number;
  readonly startsAt: Date | undefined;
  readonly endsAt: Date | undefined;
  readonly retryRuns: boolean;
  readonly priority: number;
  readonly maxAttempts: number | undefined;
  readonly payload: Jsonified<JobInput<D>>;
  readonly tags: readonly string[];
  readonly subject: string | undefined;
  readonly concurrencyKey: string | undefined;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** The application whose code declares it. */
  readonly declaredBy: string | undefined;
}

/** A schedule of one of several definitions: `type` tells which. */
export type ScheduleOf<D extends JobDefinition> = D extends JobDefinition ? Schedule<D> : never;

/** `created`, `updated`, or `existing`: it was so already. */
export type EnsuredSchedule<D extends JobDefinition = JobDefinition> = Schedule<D> & {
  readonly outcome: ScheduleOutcome;
};

/** How the run of a schedule before this one ended. */
export interface PreviousRun {
  readonly scheduledFor: Date;
  readonly finishedAt: Date;
  readonly status: "succeeded" | "failed";
  readonly error: string | undefined;
  /** Since the last success, that run included. */
  readonly consecutiveFailures: number;
}

/** What a handler is told of the schedule whose run it is. */
export interface RunSchedule {
  readonly key: string;
  /** Undefined before the first has ended. */
  readonly previousRun: PreviousRun | undefined;
}
