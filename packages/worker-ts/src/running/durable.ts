/**
 * Durable steps of one run. A call that must wait ends the run as suspended, and its promise never settles: the handler
 * stops there without an error that it could catch. The next execution runs from the top with its checkpoints.
 */
import {
  type ChildCall,
  type ChildOptions,
  type DurableStepOptions,
  type JobDefinition,
  type JobInput,
  type JobOutput,
  jobJson,
  NotSupportedError,
  prepareJob,
  readOutput,
  type Saga,
  type SettledChild,
  type SignalReply,
  type StepFacts,
  sleep,
  toStorableJson,
} from "@jobforge/sdk-ts";
import type { DatabaseParts } from "../backend.ts";
import { ChildFailedError, describeError, isNotHeld, reviveError } from "../errors.ts";
import { type Checkpoint, Checkpoints, type ChildResult } from "./checkpoints.ts";
import type { ContextServices } from "./context.ts";
import type { Run } from "./run.ts";

/** A longer wait before a retry of a step suspends the run. */
const longestPauseMs = 5000;

export class DurableSteps {
  readonly #run: Run;
  readonly #services: ContextServices;
  readonly #checkpoints: Checkpoints;
  /** How often each name was used in this run. */
  readonly #uses = new Map<string, number>();

  constructor(run: Run, services: ContextServices) {
    const { database } = services.backend;
    if (database === undefined)
      throw new NotSupportedError("Durable steps are not supported: this worker's jobs are not in Postgres", {
        hint: "Keep this type on Postgres.",
      });
    if (run.type.batchSize > 1)
      throw new NotSupportedError("Durable steps are not supported in handlers of batches", {
        hint: "Handle this type one job at a time.",
      });
    this.#run = run;
    this.#services = services;
    this.#checkpoints = new Checkpoints(run, services.backend.workerId, database.transport);
  }

  async step<T>(
    given: string,
    work: (step: StepFacts) => T | Promise<T>,
    options: DurableStepOptions = {},
  ): Promise<never> {
    const name = this.#nameOf(given);
    const known = await this.#reach(name);
    if (known?.done === true) return resultOf(known);
    const facts = { key: `${this.#run.id}:${name}` };
    for (let tries = known?.tries ?? 0; ; ) {
      try {
        const value = await work(facts);
        return await this.#save(name, value);
      } catch (error) {
        await this.#requireOpen();
        if (options.retries === undefined) throw error;
        tries += 1;
        const failed = describeError(error);
        if (tries > options.retries) {
          await this.#write({ name, error: failed, tries });
          throw reviveError(failed);
        }
        const pauseMs = (options.backoffMs ?? 1000) * 2 ** (tries - 1);
        if (pauseMs <= longestPauseMs) {
          await sleep(pauseMs, this.#run.signal);
          continue;
        }
        const until = this.#services.backend.clock.in(pauseMs);
        await this.#write({ name, error: failed, tries, done: false });
        return await this.#suspend({ name: `${name}, before try ${tries + 1}`, until });
      }
    }
  }

  async stepIn<T, Client>(given: string, work: (client: Client) => Promise<T>): Promise<never> {
    const name = this.#nameOf(given);
    const known = await this.#reach(name);
    if (known?.done === true) return resultOf(known);
    const { transport, connections } = this.#database;
    if (transport.transaction === undefined)
      throw new NotSupportedError(
        "stepIn() needs a worker that is connected to Postgres itself, not over HTTP",
      );
    try {
      return await connections.run(
        () => this.#run.signal,
        () =>
          transport.transaction?.(async (client, inside) => {
            // The caller says of which type the connection is.
            const value = await work(client as never);
            const { text } = toStorableJson(value ?? null, `the result of ${name}`);
            await this.#checkpoints.save({ name, value: JSON.parse(text) }, inside);
            return JSON.parse(text) as never;
          }) as Promise<never>,
      );
    } catch (error) {
      await this.#requireOpen();
      throw error;
    }
  }

  async sleep(when: number | Date): Promise<void> {
    const name = this.#nameOf("sleep");
    const known = await this.#reach(name);
    if (known?.done === true) return;
    const until = when instanceof Date ? when.toISOString() : this.#services.backend.clock.in(when);
    await this.#suspend({ name, until });
  }

  async waitFor(
    signals: string | readonly string[],
    { timeoutMs }: { readonly timeoutMs?: number | undefined } = {},
  ): Promise<SignalReply> {
    const names = [signals].flat();
    const name = this.#nameOf(`wait for ${names.join(", ")}`);
    const known = await this.#reach(name);
    const reply = known === undefined ? undefined : await this.#take(name);
    if (reply !== undefined) return reply;
    const until = timeoutMs === undefined ? undefined : this.#services.backend.clock.in(timeoutMs);
    return await this.#suspend({ name, signals: names, until });
  }

  async run<D extends JobDefinition>(
    job: D,
    input: JobInput<D>,
    options: ChildOptions = {},
  ): Promise<JobOutput<D>> {
    const [output] = (await this.all([{ job, input, options }])) as readonly JobOutput<D>[];
    return output as JobOutput<D>;
  }

  async all(calls: readonly ChildCall[], { settled = false } = {}): Promise<never> {
    const name = this.#nameOf("all");
    if (calls.length === 0) return [] as never;
    const known = await this.#reach(name);
    if (known?.done !== true) {
      const { traceparent } = this.#run.job;
      const children = calls.map(async ({ job, input, options }) => {
        const prepared = await prepareJob(job, input, {
          ...(traceparent === undefined ? {} : { traceparent }),
          ...options,
          tenantId: this.#run.job.tenant_id,
        });
        return JSON.parse(jobJson(prepared).text) as unknown;
      });
      return await this.#suspend({ name, children: await Promise.all(children) });
    }
    const results = await this.#asking(() => this.#checkpoints.results(name));
    const ends = await Promise.all(results.map((result, index) => settledChild(calls[index], result)));
    if (settled) return ends as never;
    return ends.map((end, index) => {
      if (end.status === "succeeded") return end.value;
      throw new ChildFailedError(
        calls[index]?.job.type ?? "",
        index,
        results[index]?.job_id ?? undefined,
        end.error,
      );
    }) as never;
  }

  async version(name: string): Promise<boolean> {
    const place = this.#nameOf(`version ${name}`);
    const known = await this.#reach(place);
    if (known?.done === true) return known.value === true;
    const isNew = !(await this.#asking(() => this.#checkpoints.hasUnreached()));
    await this.#write({ name: place, kind: "version", value: isNew });
    return isNew;
  }

  async saga<T>(work: (saga: Saga) => Promise<T>): Promise<T> {
    const undos: (() => Promise<unknown>)[] = [];
    const saga: Saga = {
      step: async (name, act, { undo, ...options } = {}) => {
        const result = await this.step(name, act, { retries: 0, ...options });
        if (undo !== undefined)
          undos.push(() => this.step(`undo ${name}`, async (facts) => void (await undo(result, facts))));
        return result;
      },
    };
    try {
      return await work(saga);
    } catch (error) {
      await this.#requireOpen();
      if (this.#runsAgain) throw error;
      for (const undo of undos.toReversed()) await undo();
      throw error;
    }
  }

  /** Whether the handler has asked for another run of the job, with `defer()` or `retryAfter()`. */
  get #runsAgain(): boolean {
    const { verdict } = this.#run;
    return verdict !== undefined && (verdict.status !== "failed" || verdict.retry !== false);
  }

  get #database(): DatabaseParts {
    return this.#services.backend.database as DatabaseParts;
  }

  #nameOf(given: string): string {
    const uses = (this.#uses.get(given) ?? 0) + 1;
    this.#uses.set(given, uses);
    return uses === 1 ? given : `${given}#${uses}`;
  }

  /** The checkpoint of this name, if an earlier execution has written it. Stops here if the run is over. */
  async #reach(name: string): Promise<Checkpoint | undefined> {
    await this.#requireOpen();
    return await this.#asking(() => this.#checkpoints.reach(name));
  }

  async #take(name: string): Promise<SignalReply | undefined> {
    const reply = await this.#asking(() => this.#checkpoints.take(name));
    if ("pending" in reply) return undefined;
    if ("timed_out" in reply) return { timedOut: true, signal: undefined, payload: undefined };
    return { timedOut: false, ...reply };
  }

  async #save(name: string, value: unknown): Promise<never> {
    await this.#requireOpen();
    const { text } = toStorableJson(value ?? null, `the result of ${name}`);
    const stored: unknown = JSON.parse(text);
    await this.#write({ name, value: stored });
    return (value === undefined ? undefined : stored) as never;
  }

  async #write(checkpoint: Checkpoint): Promise<void> {
    const { cancel_requested } = await this.#asking(() => this.#checkpoints.save(checkpoint));
    if (cancel_requested) this.#services.cancel(this.#run);
  }

  async #asking<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      if (isNotHeld(error)) this.#services.lost(this.#run);
      await this.#requireOpen();
      throw error;
    }
  }

  /**
   * A run that was aborted or has ended neither returns nor throws here: a shutdown or a lost lease must not start what
   * a handler does about errors.
   */
  async #requireOpen(): Promise<void> {
    if (this.#run.aborted === undefined && this.#run.state === "running") return;
    this.#services.leave(this.#run);
    await new Promise<never>(() => undefined);
  }

  async #suspend(wait: Readonly<Record<string, unknown>>): Promise<never> {
    await this.#requireOpen();
    this.#services.suspend(this.#run, { status: "suspended", wait });
    return await new Promise<never>(() => undefined);
  }
}

function resultOf({ error, value }: Checkpoint): never {
  if (error !== undefined) throw reviveError(error);
  return (value ?? undefined) as never;
}

async function settledChild(
  call: ChildCall | undefined,
  { status, result, error }: ChildResult,
): Promise<SettledChild<unknown>> {
  if (status === "succeeded") return { status, value: await readOutput(call?.job, result) };
  return { status, error: error ?? undefined };
}
