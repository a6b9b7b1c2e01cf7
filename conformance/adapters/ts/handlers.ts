/** Handlers from a scenario's data: per attempt a list of steps. */
import type { JobContext, JobHandler } from "@jobforge/sdk-ts";
import { JobAbortedError } from "@jobforge/worker-ts";
import type { HandlerStep } from "../../runner/scenario.ts";
import { definitionOf } from "./definitions.ts";
import { type Durable, isDurable, playDurable } from "./durable.ts";
import { type Fields, toFields, toOptions } from "./names.ts";

export type Emit = (event: string, fields: Fields) => void;

/** Lets handlers wait until the scenario releases them. A gate stays open once it is released. */
export class Gates {
  readonly #gates = new Map<string, { readonly opened: Promise<void>; readonly open: () => void }>();

  opened(name: string): Promise<void> {
    return this.#gate(name).opened;
  }

  release(name: string): void {
    this.#gate(name).open();
  }

  releaseAll(): void {
    for (const { open } of this.#gates.values()) open();
    this.#gates.clear();
  }

  #gate(name: string): { readonly opened: Promise<void>; readonly open: () => void } {
    const known = this.#gates.get(name);
    if (known !== undefined) return known;
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    this.#gates.set(name, { opened, open });
    return { opened, open };
  }
}

interface Playing {
  readonly input: unknown;
  readonly job: JobContext;
  readonly definitions: unknown;
  readonly gates: Gates;
  readonly emit: Emit;
  readonly durable: Durable;
}

export function handlersOf(request: Fields, gates: Gates, emit: Emit): JobHandler[] {
  const { handlers, definitions } = request;
  return Object.entries(handlers as Record<string, HandlerStep[][]>).map(([type, attempts]) => {
    const definition = definitionOf(type, definitions);
    const run = async (input: unknown, job: JobContext): Promise<unknown> => {
      emit("started", { job: job.id, type, attempt: job.attempt, tenant_id: job.tenantId });
      const steps = attempts[Math.min(job.attempt, attempts.length) - 1] ?? [];
      const performed = (name: string): void => emit("step", { job: job.id, name, attempt: job.attempt });
      const durable = { job, definitions, results: [], fail, performed };
      return await play(steps, { input, job, definitions, gates, emit, durable });
    };
    const { batch_size } = ((definitions as Fields)[type] ?? {}) as Fields;
    if (batch_size === undefined) return definition.handle(run);
    return definition.handleBatch(Number(batch_size), async (items) => {
      emit("context", { batch: items.length });
      return await Promise.all(items.map(({ input, job }) => run(input, job).catch(asError)));
    });
  });
}

function fail(error: unknown): never {
  throw errorOf(error as Parameters<typeof errorOf>[0]);
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Plays the steps. Returns the value of the first step that returns one. */
async function play(steps: readonly HandlerStep[], playing: Playing): Promise<unknown> {
  for (const step of steps) {
    const returned = await playStep(step, playing);
    if (returned !== undefined) return returned.value;
  }
  return undefined;
}

type Returned = { readonly value: unknown } | undefined;

async function playStep(step: HandlerStep, playing: Playing): Promise<Returned> {
  const { input, job, gates, emit } = playing;
  if ("return" in step) return { value: step.return };
  if ("return_results" in step) return { value: playing.durable.results };
  if ("echo" in step) return { value: input };
  if ("return_text" in step) return { value: "x".repeat(step.return_text.bytes) };
  if ("return_unserializable" in step) return { value: { when: new Map([[1, 2]]) } };
  if ("throw" in step) throw errorOf(step.throw);
  if ("throw_text" in step) throw step.throw_text;
  if ("throw_abort_reason" in step) throw job.signal.reason;
  if ("wait_for_abort" in step)
    emit("aborted", { job: job.id, attempt: job.attempt, kind: await abortOf(job) });
  else if ("hold" in step) await gates.opened(step.hold);
  else if ("transaction" in step) return await inTransaction(step.transaction, job);
  else if ("swallow" in step) await play(step.swallow as HandlerStep[], playing).catch(() => undefined);
  else if (isDurable(step)) await playDurable(step, playing.durable);
  else if ("saga" in step) {
    const { durable } = playing;
    await job.saga(async (saga) => {
      await play(step.saga as HandlerStep[], { ...playing, durable: { ...durable, saga } });
    });
  } else if ("late" in step) void playLate(step.late.gate, step.late.steps as HandlerStep[], playing);
  else if ("tell" in step) emit("context", contextOf(input, job));
  else await steer(step, playing);
  return undefined;
}

type Steering = Exclude<HandlerStep, { return: unknown } | { hold: string }>;

/** The calls of a handler's context. */
async function steer(step: Steering, { job, definitions }: Playing): Promise<void> {
  if ("fail" in step) job.fail(step.fail.message, step.fail.details);
  if ("defer" in step) {
    const { seconds, counts } = step.defer;
    job.defer({ inMs: seconds * 1000 }, counts === undefined ? {} : { counts });
  }
  if ("retry_after" in step) {
    const { seconds, message, at_least: atLeast } = step.retry_after;
    job.retryAfter(seconds * 1000, message, { atLeast });
  }
  if ("hold_key" in step) await job.holdKey(step.hold_key.seconds * 1000, step.hold_key.reason);
  if ("next_run" in step) job.nextRun(step.next_run.seconds * 1000);
  if ("progress" in step) await job.progress(step.progress);
  if ("cost" in step) job.cost(step.cost as number);
  if ("enqueue" in step) {
    const { type, payload, ...options } = step.enqueue;
    job.enqueue(definitionOf(type, definitions), payload, toOptions(options));
  }
  if ("log" in step) job.log[step.log.level as "info"](step.log.fields, step.log.message);
}

async function inTransaction(
  { sql, return: value }: { readonly sql: string; readonly return?: unknown },
  job: JobContext,
): Promise<Returned> {
  return {
    value: await job.transaction(async (client) => {
      await client.query(sql);
      return value;
    }),
  };
}

/** Plays steps after the run may have ended, and reports how they ended. */
async function playLate(gate: string, steps: readonly HandlerStep[], playing: Playing): Promise<void> {
  await playing.gates.opened(gate);
  const fields = { job: playing.job.id };
  await play(steps, playing).then(
    () => playing.emit("late", { ...fields, error: null }),
    (error: unknown) => playing.emit("late", { ...fields, error: String((error as Error).message) }),
  );
}

async function abortOf({ signal }: JobContext): Promise<string> {
  if (!signal.aborted)
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  return signal.reason instanceof JobAbortedError ? signal.reason.kind : "unknown";
}

function errorOf({ name, message, code, cause }: Extract<HandlerStep, { throw: unknown }>["throw"]): Error {
  const error = new Error(String(message), cause === undefined ? {} : { cause: errorOf(cause) });
  return Object.assign(error, { name }, code === undefined ? {} : { code });
}

function contextOf(input: unknown, job: JobContext): Fields {
  const { id, type, tenantId, attempt, maxAttempts, traceId, traceparent, subject, tags } = job;
  const { runAt, createdAt, scheduledFor, schedule } = job;
  const previous = schedule?.previousRun;
  return {
    ...(toFields({
      id,
      type,
      tenantId,
      attempt,
      maxAttempts,
      traceId,
      traceparent,
      subject,
      tags,
    }) as Fields),
    ...(toFields({ runAt, createdAt, scheduledFor }) as Fields),
    input,
    schedule: schedule && { key: schedule.key, previous_run: previous && toFields(previous) },
  };
}
