/** A job's definition: its type, what goes in and comes out, and how it is retried. The source of every type downstream. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { DedupeMode, RetryPreset } from "../words.ts";
import type { JobContext } from "./context.ts";

/** How failed runs are retried: the wait after the n-th failure is `min(capMs, baseMs * factor^(n-1))`. */
export interface RetryPolicy {
  readonly baseMs?: number | undefined;
  readonly capMs?: number | null | undefined;
  readonly factor?: number | undefined;
  /** Share by which a wait is spread, either way: 0 to 1. */
  readonly jitter?: number | undefined;
  /** Executions in total. */
  readonly maxAttempts?: number | undefined;
}

export interface JobDefinitionOptions<
  Type extends string,
  Input extends StandardSchemaV1,
  Output extends StandardSchemaV1,
> {
  readonly type: Type;
  /** Checked at enqueue and again before the handler. Without it the payload is any JSON. */
  readonly input?: Input | undefined;
  /** Checked when the handler returns, and again when a caller waits for the result. */
  readonly output?: Output | undefined;
  readonly retry?: RetryPreset | RetryPolicy | undefined;
  readonly timeoutMs?: number | undefined;
  readonly leaseMs?: number | undefined;
  /** Of jobs that name none. */
  readonly priority?: number | undefined;
  readonly maxPriority?: number | undefined;
  readonly auditAction?: string | undefined;
  readonly keepHistory?: boolean | undefined;
  readonly retentionDays?: number | undefined;
  /** Names of payload keys that clients must not show or log. */
  readonly redact?: readonly string[] | undefined;
  /** Every job of the type has these, beside its own. */
  readonly tags?: readonly string[] | undefined;
  /** The dedupe key of an input: while a job with this key is queued or running, no second one is made. */
  dedupe?(input: StandardSchemaV1.InferOutput<Input>): string | undefined;
  /** What a job with this input is about. */
  subject?(input: StandardSchemaV1.InferOutput<Input>): string | undefined;
}

export interface JobDefinition<
  Type extends string = string,
  Input extends StandardSchemaV1 = StandardSchemaV1,
  Output extends StandardSchemaV1 = StandardSchemaV1,
> extends JobDefinitionOptions<Type, Input, Output> {
  /** Binds a handler: what a worker is given. */
  handle(run: HandlerFunction<Input, Output>): JobHandler<Type>;
  /** Binds a handler that is called once for up to `size` jobs, and answers one result per job, in order. */
  handleBatch(size: number, run: BatchHandlerFunction<Input, Output>): JobHandler<Type>;
}

/** What a caller passes at enqueue, and what is stored: the payload. */
export type JobInput<D> =
  D extends JobDefinition<string, infer I, StandardSchemaV1> ? StandardSchemaV1.InferInput<I> : never;
/** What a handler is given: the input as the schema gave it back. */
export type JobPayload<D> =
  D extends JobDefinition<string, infer I, StandardSchemaV1> ? StandardSchemaV1.InferOutput<I> : never;
/** What a waiting caller gets: what the handler returned, as the schema gave it back. */
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

/** A result per job, in order; an Error fails that job alone. */
export type BatchHandlerFunction<Input extends StandardSchemaV1, Output extends StandardSchemaV1> = (
  items: readonly BatchItem<Input>[],
) => Promise<readonly (StandardSchemaV1.InferInput<Output> | Error)[]>;

/** A definition with its handler, its types erased: what the worker runs. */
export interface JobHandler<Type extends string = string> {
  readonly definition: JobDefinition<Type>;
  readonly batchSize: number;
  /**
   * Runs the handler for items whose input was validated. One outcome per item, in order: the value, or the Error that item met. Rejects
   * when the handler as a whole threw: that is then every item's error.
   */
  run(items: readonly { readonly input: unknown; readonly job: JobContext }[]): Promise<readonly unknown[]>;
}

export interface EnqueueOptions {
  readonly tenantId: string;
  /** One job per tenant, type and key, for as long as the job is remembered. */
  readonly idempotencyKey?: string | undefined;
  /** One live job per tenant, type and key. Default: what the definition's `dedupe` answers. */
  readonly dedupeKey?: string | undefined;
  readonly dedupeMode?: DedupeMode | undefined;
  readonly runAt?: Date | undefined;
  readonly expiresAt?: Date | undefined;
  readonly maxAttempts?: number | undefined;
  readonly priority?: number | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly subject?: string | undefined;
  readonly concurrencyKey?: string | undefined;
  /** A W3C trace context header, kept on the job. Default: the active span, where the process has OpenTelemetry. */
  readonly traceparent?: string | undefined;
}
