/**
 * Durable steps: what a handler saves, waits for and calls, so that it goes on where it was. A handler that waits is
 * not running: its slot is free, and waiting costs no attempt. Afterwards it runs from the top, and its steps return
 * what they returned before. Code between steps runs again each time.
 */
import type { Jsonified } from "../jobs/job.ts";
import type { RunConnection } from "./context.ts";
import type { EnqueueOptions, JobDefinition, JobInput, JobOutput } from "./definition.ts";

/** What the function of a step is given. */
export interface StepFacts {
  /** The same in every execution of this step: an idempotency key for other systems. */
  readonly key: string;
}

export interface DurableStepOptions {
  /**
   * How often a step that throws is tried again by itself. When that is used up, the error is saved: every later
   * execution throws it again, so it is safe to catch. Without this option the error is not saved, and fails the run.
   */
  readonly retries?: number | undefined;
  /** The wait before the first retry; each further one is twice as long. Default 1000. */
  readonly backoffMs?: number | undefined;
}

export interface WaitForOptions {
  /** How long to wait. Default: for ever. */
  readonly timeoutMs?: number | undefined;
}

/** The signal that came first, or that none came in time. */
export type SignalReply =
  | { readonly timedOut: false; readonly signal: string; readonly payload: unknown }
  | { readonly timedOut: true; readonly signal: undefined; readonly payload: undefined };

/** A child that `job.all` starts. */
export interface ChildCall<D extends JobDefinition = JobDefinition> {
  readonly job: D;
  readonly input: JobInput<D>;
  readonly options: ChildOptions;
}

/** Children that a job waits for have no keys: the wait makes them unique. */
export type ChildOptions = Omit<EnqueueOptions, "tenantId" | "idempotencyKey" | "dedupeKey" | "dedupeMode">;

/** The last error of a child. */
export interface ChildError {
  readonly name: string;
  readonly message: string;
}

/** How a child ended. */
export type SettledChild<T> =
  | { readonly status: "succeeded"; readonly value: T }
  | { readonly status: "failed" | "dead" | "canceled"; readonly error: ChildError | undefined };

type Outputs<Cs extends readonly ChildCall[]> = {
  -readonly [K in keyof Cs]: Cs[K] extends ChildCall<infer D> ? JobOutput<D> : never;
};
type SettledOutputs<Cs extends readonly ChildCall[]> = {
  -readonly [K in keyof Cs]: Cs[K] extends ChildCall<infer D> ? SettledChild<JobOutput<D>> : never;
};

/** Steps with a way back. */
export interface Saga {
  /**
   * A step as `job.step`, with `retries` of 0 unless given, so that its failure is kept. `undo` is called with its
   * result if the saga fails later.
   */
  step<T>(
    name: string,
    work: (step: StepFacts) => T | Promise<T>,
    options?: DurableStepOptions & {
      readonly undo?: ((result: Jsonified<T>, step: StepFacts) => unknown) | undefined;
    },
  ): Promise<Jsonified<T>>;
}

/** Not in handlers of batches. A name that is used again in the same run becomes `name#2`. */
export interface DurableContext {
  /** Runs `work` once and saves what it returned. Later executions return the saved value. */
  step<T>(
    name: string,
    work: (step: StepFacts) => T | Promise<T>,
    options?: DurableStepOptions,
  ): Promise<Jsonified<T>>;
  /** A step whose own writes and checkpoint are one transaction: for effects in this database exactly once. */
  stepIn<T, Client = RunConnection>(
    name: string,
    work: (client: Client) => Promise<T>,
  ): Promise<Jsonified<T>>;
  /** Waits, without a worker, for a time span in milliseconds or until a time. */
  sleep(when: number | Date): Promise<void>;
  /** Waits, without a worker, for the first of these signals. They are sent with `forge.signal(job.id, …)`. */
  waitFor(signals: string | readonly string[], options?: WaitForOptions): Promise<SignalReply>;
  /** Describes a child for `job.all`. */
  call<D extends JobDefinition>(job: D, input: JobInput<D>, options?: ChildOptions): ChildCall<D>;
  /** Starts a child, waits for it without a worker, and returns its output. Throws a ChildFailedError. */
  run<D extends JobDefinition>(job: D, input: JobInput<D>, options?: ChildOptions): Promise<JobOutput<D>>;
  /**
   * Starts children, waits for all of them without a worker, and returns their outputs in order. Throws a
   * ChildFailedError if one ended badly; with `settled`, returns how each ended instead.
   */
  all<const Cs extends readonly ChildCall[]>(calls: Cs): Promise<Outputs<Cs>>;
  all<const Cs extends readonly ChildCall[]>(
    calls: Cs,
    options: { readonly settled: true },
  ): Promise<SettledOutputs<Cs>>;
  /**
   * Whether this execution may take a new way through the code: false in a job that went past this place before the
   * name was introduced. The answer is saved.
   */
  version(name: string): Promise<boolean>;
  /**
   * Runs steps with a way back: if `work` throws, the steps that have succeeded are undone in reverse order, and the
   * error is thrown again. A wait does not throw, so it undoes nothing.
   */
  saga<T>(work: (saga: Saga) => Promise<T>): Promise<T>;
}
