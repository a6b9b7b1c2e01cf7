/**
 * Durable steps: what a handler saves, waits for and calls, so that it goes on where it was. A handler that waits is
 * not running: its slot is free, and waiting costs no attempt. Afterwards it runs from the top, and its steps return
 * what they returned before. Code between steps runs again each time.
 */
import type { Jsonified } from "../jobs/job.ts";
import type {
  StartOptions,
  WorkflowDefinition,
  WorkflowInput,
  WorkflowOutput,
} from "../workflows/definition.ts";
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

/** What a handler can start and wait for: a job or a workflow. */
export type ChildDefinition = JobDefinition | WorkflowDefinition;
export type ChildInput<D> = D extends WorkflowDefinition
  ? WorkflowInput<D>
  : D extends JobDefinition
    ? JobInput<D>
    : never;
export type ChildOutput<D> = D extends WorkflowDefinition
  ? WorkflowOutput<D>
  : D extends JobDefinition
    ? JobOutput<D>
    : never;

/** A child that `job.all` starts. */
export interface ChildCall<D extends ChildDefinition = ChildDefinition> {
  readonly definition: D;
  readonly input: ChildInput<D>;
  readonly options: ChildOptionsOf<D>;
}

export interface ChildrenOptions {
  /** Leaves the children alone if this job is canceled or ends badly meanwhile. Without it they are canceled. */
  readonly abandon?: boolean | undefined;
}

/** Children that a job waits for have no keys: the wait makes them unique. */
export type ChildOptions = Omit<EnqueueOptions, "tenantId" | "idempotencyKey" | "dedupeKey" | "dedupeMode">;
export type ChildWorkflowOptions = Omit<StartOptions, "tenantId" | "idempotencyKey" | "dedupeKey">;
export type ChildOptionsOf<D> = D extends WorkflowDefinition ? ChildWorkflowOptions : ChildOptions;

/** The last error of a child. */
export interface ChildError {
  readonly name: string;
  readonly message: string;
}

/** How a child ended. */
export type SettledChild<T> =
  | { readonly status: "succeeded"; readonly value: T }
  | { readonly status: "failed" | "dead" | "canceled"; readonly error: ChildError | undefined };

/** How a step of the workflow ended, or one item of a map: `index` is its place in the list. */
export type StepResult<T> = { readonly index: number } & (
  | { readonly status: "succeeded"; readonly value: T }
  | {
      readonly status: "failed" | "dead" | "canceled" | "skipped";
      readonly error: ChildError | undefined;
    }
);

type Outputs<Cs extends readonly ChildCall[]> = {
  -readonly [K in keyof Cs]: Cs[K] extends ChildCall<infer D> ? ChildOutput<D> : never;
};
type SettledOutputs<Cs extends readonly ChildCall[]> = {
  -readonly [K in keyof Cs]: Cs[K] extends ChildCall<infer D> ? SettledChild<ChildOutput<D>> : never;
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
  /** Describes a child for `job.all`: a job or a workflow. */
  call<D extends ChildDefinition>(
    definition: D,
    input: ChildInput<D>,
    options?: ChildOptionsOf<D>,
  ): ChildCall<D>;
  /**
   * Starts a job or a workflow, waits for it without a worker, and returns its output. Throws a ChildFailedError. If
   * this job is canceled or ends badly meanwhile, the child is canceled, unless `abandon` is true.
   */
  run<D extends ChildDefinition>(
    definition: D,
    input: ChildInput<D>,
    options?: ChildOptionsOf<D> & ChildrenOptions,
  ): Promise<ChildOutput<D>>;
  /**
   * Starts children, waits for all of them without a worker, and returns their outputs in order. Throws a
   * ChildFailedError if one ended badly; with `settled`, returns how each ended instead.
   */
  all<const Cs extends readonly ChildCall[]>(
    calls: Cs,
    options?: ChildrenOptions & { readonly settled?: false | undefined },
  ): Promise<Outputs<Cs>>;
  all<const Cs extends readonly ChildCall[]>(
    calls: Cs,
    options: ChildrenOptions & { readonly settled: true },
  ): Promise<SettledOutputs<Cs>>;
  /**
   * Whether this execution may take a new way through the code: false in a job that went past this place before the
   * name was introduced. The answer is saved.
   */
  version(name: string): Promise<boolean>;
  /**
   * How the steps ended that a step of a workflow needs: of a map one result for each item, in the order of the list,
   * read in pages of 1,000; of another step one. `step` is the name of a step in the same list of steps.
   */
  results<D extends JobDefinition>(job: D, step: string): AsyncIterable<StepResult<JobOutput<D>>>;
  /**
   * Runs steps with a way back: if `work` throws, the steps that have succeeded are undone in reverse order, and the
   * error is thrown again. A wait does not throw, so it undoes nothing.
   */
  saga<T>(work: (saga: Saga) => Promise<T>): Promise<T>;
}
