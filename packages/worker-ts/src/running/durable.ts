/**
 * Durable steps of one run. A call that must wait ends the run as suspended, and its promise never settles: the handler
 * stops there without an error that it could catch. The next execution runs from the top with its checkpoints.
 */
import {
  type ChildCall,
  type ChildDefinition,
  type ChildInput,
  type ChildOptionsOf,
  type ChildOutput,
  type ChildrenOptions,
  checkResult,
  type DurableStepOptions,
  InvalidArgumentError,
  type JobDefinition,
  type JobOutput,
  NotSupportedError,
  readOutput,
  type Saga,
  type SignalReply,
  type StepFacts,
  type StepResult,
  sleep,
  toStorableJson,
} from "@jobforge/sdk-ts";
import { describeError } from "@jobforge/sdk-ts/internal";
import type { DatabaseParts } from "../backend.ts";
import { ChildFailedError, isNotHeld, reviveError } from "../errors.ts";
import {
  requireCalls,
  requireSignals,
  requireStep,
  requireStepOptions,
  requireTime,
} from "./argument-checks.ts";
import { type Checkpoint, Checkpoints, type ResultPage } from "./checkpoints.ts";
import { childJson, childWorkflowJson, isWorkflow, nameOfChild, settledChild } from "./children.ts";
import type { ContextServices } from "./context.ts";
import { readStored } from "./offloading.ts";
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
    requireStep(given, work, "step");
    requireStepOptions(options);
    const name = this.#nameOf(given);
    const known = await this.#reach(name);
    if (known?.done === true) return resultOf(known);
    const facts = { key: `${this.#run.id}:${name}` };
    for (let tries = known?.tries ?? 0; ; ) {
      let hasWorked = false;
      try {
        const value = await work(facts);
        hasWorked = true;
        return await this.#save(name, value);
      } catch (error) {
        await this.#requireOpen();
        if (options.retries === undefined) throw error;
        tries += 1;
        const failed = describeError(error);
        // A result that cannot be stored is no reason to do the work again.
        const isUnstorable = hasWorked && error instanceof InvalidArgumentError;
        if (isUnstorable || tries > options.retries) {
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
    requireStep(given, work, "stepIn");
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
            const stored = storedForm(value, name);
            await this.#checkpoints.save({ name, value: stored }, inside);
            return stored as never;
          }) as Promise<never>,
      );
    } catch (error) {
      await this.#requireOpen();
      throw error;
    }
  }

  async sleep(when: number | Date): Promise<void> {
    requireTime(when, "sleep");
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
    requireSignals(names, timeoutMs);
    const name = this.#nameOf(`wait for ${names.join(", ")}`);
    const known = await this.#reach(name);
    const reply = known === undefined ? undefined : await this.#take(name);
    if (reply !== undefined) return reply;
    const until = timeoutMs === undefined ? undefined : this.#services.backend.clock.in(timeoutMs);
    return await this.#suspend({ name, signals: names, until });
  }

  async run<D extends ChildDefinition>(
    definition: D,
    input: ChildInput<D>,
    options?: ChildOptionsOf<D> & ChildrenOptions,
  ): Promise<ChildOutput<D>> {
    const { abandon, ...rest } = options ?? {};
    const call = { definition, input, options: rest } as unknown as ChildCall;
    const [output] = (await this.all([call], { abandon })) as readonly ChildOutput<D>[];
    return output as ChildOutput<D>;
  }

  async all(
    calls: readonly ChildCall[],
    { settled = false, abandon }: ChildrenOptions & { readonly settled?: boolean | undefined } = {},
  ): Promise<never> {
    requireCalls(calls);
    const name = this.#nameOf("all");
    if (calls.length === 0) return [] as never;
    const known = await this.#reach(name);
    if (known?.done !== true) {
      const children = await Promise.all(calls.map((call) => this.#childJson(call)));
      return await this.#suspend({ name, children, abandon });
    }
    const results = await this.#asking(() => this.#checkpoints.results(name));
    const ends = await Promise.all(
      results.map(async (each, index) => {
        const result = await readStored(this.#run, each.result, this.#services.backend);
        return await settledChild(calls[index], { ...each, result });
      }),
    );
    if (settled) return ends as never;
    return ends.map((end, index) => {
      if (end.status === "succeeded") return end.value;
      const result = results[index];
      const child = { jobId: result?.job_id ?? undefined, workflowId: result?.workflow_id };
      throw new ChildFailedError(nameOfChild(calls[index]), index, child, end.error);
    }) as never;
  }

  async #childJson({ definition, input, options }: ChildCall): Promise<unknown> {
    const { traceparent, tenant_id: tenantId } = this.#run.job;
    const all = { ...(traceparent === undefined ? {} : { traceparent }), ...options, tenantId };
    if (isWorkflow(definition)) return await childWorkflowJson(definition, input, all);
    return await childJson(definition, input, all);
  }

  async *results<D extends JobDefinition>(job: D, step: string): AsyncGenerator<StepResult<JobOutput<D>>> {
    await this.#requireOpen();
    for (let after: number | null = -1; after !== null; ) {
      const from: number = after;
      const page: ResultPage = await this.#asking(() => this.#checkpoints.resultsAfter(step, from));
      for (const { index, status, result, error } of page.items) {
        if (status === "succeeded") {
          const stored = await readStored(this.#run, result, this.#services.backend);
          yield { index, status, value: (await readOutput(job, stored)) as JobOutput<D> };
        } else yield { index, status, error: error ?? undefined };
      }
      after = page.next;
    }
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
    const stored = storedForm(value, name);
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

/** The result of a step as later executions get it. Refuses a result that JSON would not keep, such as a Map. */
function storedForm(value: unknown, name: string): unknown {
  const field = `the result of ${name}`;
  checkResult(value, field);
  return JSON.parse(toStorableJson(value ?? null, field).text);
}

function resultOf({ error, value }: Checkpoint): never {
  if (error !== undefined) throw reviveError(error);
  return (value ?? undefined) as never;
}
