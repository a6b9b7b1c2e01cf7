/** A job definition: its type, input and output, and how it is retried. All other types derive from it. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { DedupeMode, KeepLogs, RetryPreset } from "../words.ts";
import type { JobContext } from "./context.ts";
import type { NotifyOptions } from "./webhook.ts";

/** How failed runs are retried. The wait after the n-th failure is `min(capMs, baseMs * factor^(n-1))`. */
export interface RetryPolicy {
  readonly baseMs?: number | undefined;
  readonly capMs?: number | null | undefined;
  readonly factor?: number | undefined;
  /** The share of a wait by which it is randomly shortened or lengthened, 0 to 1. */
  readonly jitter?: number | undefined;
  /** The total number of executions. */
  readonly maxAttempts?: number | undefined;
}

export interface JobDefinitionOptions<
  Type extends string,
  Input extends StandardSchemaV1,
  Output extends StandardSchemaV1,
> {
  readonly type: Type;
  /** Checks the payload at enqueue and again before the handler. Without a schema, the payload is any JSON. */
  readonly input?: Input | undefined;
  /** Checks the output when the handler returns, and again when a caller waits for the result. */
  readonly output?: Output | undefined;
  /** A preset or numbers. `maxAttempts` is sent with each job; workers write the waits to the policy of the type. */
  readonly retry?: RetryPreset | RetryPolicy | undefined;
  /** The longest time that a run may take. Default: one hour. Null: no limit. */
  readonly timeoutMs?: number | null | undefined;
  readonly leaseMs?: number | undefined;
  /** The priority of jobs that do not set their own. */
  readonly priority?: number | undefined;
  readonly maxPriority?: number | undefined;
  readonly auditAction?: string | undefined;
  readonly keepHistory?: boolean | undefined;
  readonly retentionDays?: number | undefined;
  /** The names of payload keys that clients must not show or log. */
  readonly redact?: readonly string[] | undefined;
  /** The runs whose logs are kept with their attempts. Default: `off`. */
  readonly keepLogs?: KeepLogs | undefined;
  /** Every job of the type has these in addition to its own. */
  readonly tags?: readonly string[] | undefined;
  /** The dedupe key of an input. While a job with this key is queued or running, no second one is created. */
  dedupe?(input: StandardSchemaV1.InferOutput<Input>): string | undefined;
  /** What an enqueue does when a live job has the same dedupe key, unless the call says otherwise. Default: `skip`. */
  readonly dedupeMode?: DedupeMode | undefined;
  /** The subject of a job with this input. */
  subject?(input: StandardSchemaV1.InferOutput<Input>): string | undefined;
}

export interface JobDefinition<
  Type extends string = string,
  Input extends StandardSchemaV1 = StandardSchemaV1,
  Output extends StandardSchemaV1 = StandardSchemaV1,
> extends JobDefinitionOptions<Type, Input, Output> {
  /** Binds a handler, for a worker's `handlers`. */
  handle(run: HandlerFunction<Input, Output>): JobHandler<Type>;
  /** Binds a handler that is called once for up to `size` jobs. It returns one result per job, in order. */
  handleBatch(size: number, run: BatchHandlerFunction<Input, Output>): JobHandler<Type>;
}

/** The input that a caller passes at enqueue, and that is stored as the payload. */
export type JobInput<D> =
  D extends JobDefinition<string, infer I, StandardSchemaV1> ? StandardSchemaV1.InferInput<I> : never;
/** The input of the handler: the output of the input schema. */
export type JobPayload<D> =
  D extends JobDefinition<string, infer I, StandardSchemaV1> ? StandardSchemaV1.InferOutput<I> : never;
/** The result for a waiting caller: what the handler returned, after the output schema. */
export type JobOutput<D> =
  D extends JobDefinition<string, StandardSchemaV1, infer O> ? StandardSchemaV1.InferOutput<O> : never;

export type HandlerFunction<Input extends StandardSchemaV1, Output extends StandardSchemaV1> = (
  input: StandardSchemaV1.InferOutput<Input>,
  job: JobContext,
) => Promise<StandardSchemaV1.InferInput<Output>> | StandardSchemaV1.InferInput<Output>;

export interface BatchItem<Input extends StandardSchemaV1> {
  readonly input: StandardSchemaV1.InferOutput<Input>;
  readonly job: JobContext;
}

/** Returns one result per job, in order. An Error fails only that job. */
export type BatchHandlerFunction<Input extends StandardSchemaV1, Output extends StandardSchemaV1> = (
  items: readonly BatchItem<Input>[],
) => Promise<readonly (StandardSchemaV1.InferInput<Output> | Error)[]>;

/** A definition with its handler, as the worker runs it. The types of input and output are erased. */
export interface JobHandler<Type extends string = string> {
  readonly definition: JobDefinition<Type>;
  readonly batchSize: number;
  /**
   * Runs the handler for items whose input was validated. Resolves with one outcome per item, in order: the value, or
   * the Error of that item. Rejects if the whole handler threw; the error is then the error of every item.
   */
  run(items: readonly { readonly input: unknown; readonly job: JobContext }[]): Promise<readonly unknown[]>;
}

export interface EnqueueOptions {
  readonly tenantId: string;
  /** There is one job per tenant, type and key, until the job is forgotten. */
  readonly idempotencyKey?: string | undefined;
  /** There is one queued or running job per tenant, type and key. Default: what the definition's `dedupe` returns. */
  readonly dedupeKey?: string | undefined;
  readonly dedupeMode?: DedupeMode | undefined;
  /** The job does not start before this time. */
  readonly runAt?: Date | undefined;
  /** The job does not start before this many milliseconds have passed on the database's clock. */
  readonly delayMs?: number | undefined;
  readonly expiresAt?: Date | undefined;
  readonly maxAttempts?: number | undefined;
  readonly priority?: number | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly subject?: string | undefined;
  readonly concurrencyKey?: string | undefined;
  /** Stores a payload of more than 512 KiB, up to 64 MiB, in the artifact store. Default false. */
  readonly offload?: boolean | undefined;
  /** A W3C trace context header, stored with the job. Default: the active span, if the process has OpenTelemetry. */
  readonly traceparent?: string | undefined;
  /** Whom a webhook tells about the end of the job, if this call creates it. */
  readonly notify?: NotifyOptions | undefined;
}
