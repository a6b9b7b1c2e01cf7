/** Schedules, and how code declares them. */

import type { Jsonified, OfTenant } from "../jobs/job.ts";
import type { MissedMode, OverlapMode, ScheduleKind, ScheduleOutcome } from "../words.ts";
import type { JobDefinition, JobInput } from "./definition.ts";

/** The schedule is due at the times of a cron expression. */
export interface CronRhythm {
  readonly cron: string;
  /** The time zone of the expression, such as `Europe/Berlin`. Default `UTC`. */
  readonly timezone?: string | undefined;
  readonly every?: undefined;
  readonly dynamic?: undefined;
  readonly anchor?: undefined;
  readonly jitter?: undefined;
}

/** The schedule is due at whole intervals after an anchor. */
export interface IntervalRhythm {
  /** One second to 366 days, such as `5m` or `1h30m`. */
  readonly every: string;
  /** The time from which intervals are counted. Default: the first run. */
  readonly anchor?: Date | undefined;
  /** Each due time is later by a random time of up to this, such as `30s`. */
  readonly jitter?: string | undefined;
  readonly cron?: undefined;
  readonly timezone?: undefined;
  readonly dynamic?: undefined;
}

/** The handler sets the next due time, with `job.nextRun()`. */
export interface DynamicRhythm {
  readonly dynamic: true;
  readonly cron?: undefined;
  readonly timezone?: undefined;
  readonly every?: undefined;
  readonly anchor?: undefined;
  readonly jitter?: undefined;
}

/** When runs are due: one of the three kinds. */
export type Rhythm = CronRhythm | IntervalRhythm | DynamicRhythm;

/** The settings of all kinds of schedules. */
export interface ScheduleSettings {
  /** Whether the schedule runs. Default: a new one does, an existing one stays as it is. */
  readonly enabled?: boolean | undefined;
  /** What happens at a due time while a run is queued or running. Default `skip`. */
  readonly overlap?: OverlapMode | undefined;
  /** What happens with due times that passed while no worker was there. Default `once`. */
  readonly missed?: MissedMode | undefined;
  /** How many missed runs `missed: "all"` makes up for, the latest ones: 1 to 100. Default 100. */
  readonly missedLimit?: number | undefined;
  readonly startsAt?: Date | undefined;
  readonly endsAt?: Date | undefined;
  /** Whether a failed run is retried by its type's policy. Otherwise the next due time is the next run. */
  readonly retryRuns?: boolean | undefined;
  /** The priority of each run. This and the following settings apply to runs. Default: the job definition's. */
  readonly priority?: number | undefined;
  readonly maxAttempts?: number | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly subject?: string | undefined;
  readonly concurrencyKey?: string | undefined;
}

/** The input of each run. It may be left out if `{}` is a valid input. */
export type PayloadOption<D extends JobDefinition> =
  Record<never, never> extends JobInput<D>
    ? { readonly payload?: JobInput<D> | undefined }
    : { readonly payload: JobInput<D> };

/** The options of a schedule. */
export type ScheduleOptions<D extends JobDefinition = JobDefinition> = Rhythm &
  ScheduleSettings &
  PayloadOption<D> &
  OfTenant & {
    /**
     * The next run, whatever the rhythm is; null: no next run. If it is not given, an existing schedule keeps its next
     * run.
     */
    readonly nextRunAt?: Date | null | undefined;
    /** Computes the next run as for a new schedule. */
    readonly reset?: boolean | undefined;
    /** As `nextRunAt`, for a new schedule only: an existing one keeps its next run. */
    readonly firstRunAt?: Date | null | undefined;
    /** True: an existing schedule stays as it is, whatever the other options say. */
    readonly ifMissing?: boolean | undefined;
    /** True: sets `consecutiveFailures` to 0 and removes `lastError`. */
    readonly resetFailures?: boolean | undefined;
  };

/** Changes to a schedule. What is not given stays; null sets the default. */
export type ScheduleChanges<D extends JobDefinition = JobDefinition> = {
  readonly [K in Exclude<keyof ScheduleSettings, "enabled"> | "timezone" | "jitter"]?:
    | (ScheduleSettings & { timezone?: string | undefined; jitter?: string | undefined })[K]
    | null;
} & {
  readonly cron?: string | undefined;
  readonly every?: string | undefined;
  readonly dynamic?: true | undefined;
  readonly anchor?: Date | undefined;
  readonly enabled?: boolean | undefined;
  readonly payload?: JobInput<D> | undefined;
  /** Replaces some keys of the payload and keeps the others. The schema is checked when the run starts. */
  readonly mergePayload?: Partial<JobInput<D>> | undefined;
  readonly nextRunAt?: Date | null | undefined;
  readonly reset?: boolean | undefined;
  /** True: sets `consecutiveFailures` to 0 and removes `lastError`. */
  readonly resetFailures?: boolean | undefined;
};

/** The options of `defineSchedule`. */
export type ScheduleDefinitionOptions<D extends JobDefinition> = Rhythm &
  ScheduleSettings &
  PayloadOption<D> & {
    readonly job: D;
    /** The name of the schedule among those of the same tenant and type. */
    readonly key: string;
    /** Default: the global tenant. */
    readonly tenantId?: string | undefined;
  };

/** A schedule that code declares. `forge.sync()` writes it to the database. */
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
  /** What people call the tenant; undefined if it has no label. */
  readonly tenantLabel: string | undefined;
  readonly type: D["type"];
  readonly key: string;
  readonly kind: ScheduleKind;
  readonly cron: string | undefined;
  readonly timezone: string | undefined;
  /** An interval as Postgres writes it, such as `00:05:00`. */
  readonly every: string | undefined;
  readonly anchor: Date | undefined;
  readonly jitter: string | undefined;
  readonly enabled: boolean;
  /** The next due time; undefined after the last run, and for a dynamic schedule while a run is queued or running. */
  readonly nextRunAt: Date | undefined;
  /** The due time of the oldest run that is queued. For a dynamic schedule that is the next run. */
  readonly waitingSince: Date | undefined;
  /** Since when its run is running. */
  readonly runningSince: Date | undefined;
  /** When the last run succeeded or failed. */
  readonly lastRunAt: Date | undefined;
  /** When that run was due. */
  readonly lastScheduledFor: Date | undefined;
  readonly lastStatus: "succeeded" | "failed" | undefined;
  /** The error of the last run, if it failed. */
  readonly lastError: string | undefined;
  /** Failed runs since the last success. */
  readonly consecutiveFailures: number;
  /** Whether a run was requested and does not exist yet. */
  readonly runRequested: boolean;
  /** Runs that are queued or running. */
  readonly liveRuns: number;
  readonly overlap: OverlapMode;
  readonly missed: MissedMode;
  readonly missedLimit: number;
  readonly startsAt: Date | undefined;
  readonly endsAt: Date | undefined;
  readonly retryRuns: boolean;
  readonly priority: number;
  readonly maxAttempts: number | undefined;
  /** What the definition of the job says about attempts. It counts if `maxAttempts` is undefined. */
  readonly defaultAttempts: number | undefined;
  readonly payload: Jsonified<JobInput<D>>;
  readonly tags: readonly string[];
  readonly subject: string | undefined;
  readonly concurrencyKey: string | undefined;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** The application whose code declares it. */
  readonly declaredBy: string | undefined;
}

/** A schedule of one of several definitions; `type` says which. */
export type ScheduleOf<D extends JobDefinition> = D extends JobDefinition ? Schedule<D> : never;

/** The schedule, and what `ensure` did. `existing` means that it already had these options. */
export type EnsuredSchedule<D extends JobDefinition = JobDefinition> = Schedule<D> & {
  readonly outcome: ScheduleOutcome;
};

/** How the previous run of a schedule ended. */
export interface PreviousRun {
  readonly scheduledFor: Date;
  readonly finishedAt: Date;
  readonly status: "succeeded" | "failed";
  readonly error: string | undefined;
  /** Failed runs since the last success, including that run. */
  readonly consecutiveFailures: number;
}

/** What a handler knows about the schedule of its run. */
export interface RunSchedule {
  readonly key: string;
  /** Undefined until the first run has ended. */
  readonly previousRun: PreviousRun | undefined;
}
