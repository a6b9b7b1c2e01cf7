/** Durable steps of handlers, from a scenario's data. What they return is collected for `return_results`. */
import type { ChildDefinition, JobContext, Saga } from "@jobforge/sdk-ts";
import type { HandlerStep } from "../../runner/scenario.ts";
import { definitionOf } from "./definitions.ts";
import type { Fields } from "./names.ts";
import { addAll, type StepData, type WorkflowData, workflowOf } from "./workflows.ts";

export type DurableStep = Extract<
  HandlerStep,
  | { step: unknown }
  | { sleep: unknown }
  | { wait_for: unknown }
  | { run: unknown }
  | { all: unknown }
  | { version: unknown }
  | { add_steps: unknown }
>;

export interface Durable {
  readonly job: JobContext;
  readonly definitions: unknown;
  readonly results: unknown[];
  readonly saga?: Saga | undefined;
  readonly fail: (error: unknown) => never;
  readonly performed: (name: string) => void;
}

export function isDurable(step: object): step is DurableStep {
  return ["step", "sleep", "wait_for", "run", "all", "version", "add_steps"].some((name) => name in step);
}

export async function playDurable(step: DurableStep, durable: Durable): Promise<void> {
  const { job, results, definitions } = durable;
  if ("sleep" in step) await job.sleep(step.sleep.seconds * 1000);
  else if ("add_steps" in step)
    job.addSteps((w) => void addAll(w, step.add_steps as unknown as StepData[], {}, definitions));
  else results.push(await resultOf(step, durable));
}

async function resultOf(
  step: Exclude<DurableStep, { sleep: unknown } | { add_steps: unknown }>,
  durable: Durable,
): Promise<unknown> {
  const { job } = durable;
  if ("step" in step) return await saved(step, durable);
  if ("version" in step) return await job.version(step.version);
  if ("run" in step) {
    const { definition, payload } = childOf(step.run, durable);
    return await job.run(definition, payload);
  }
  if ("all" in step) {
    const calls = step.all.calls.map((call) => {
      const { definition, payload } = childOf(call, durable);
      return job.call(definition, payload);
    });
    if (step.all.settled !== true) return await job.all(calls);
    return (await job.all(calls, { settled: true })).map(({ status }) => status);
  }
  const { signals, timeout } = step.wait_for;
  const reply = await job.waitFor(signals, timeout === undefined ? {} : { timeoutMs: timeout * 1000 });
  return { timed_out: reply.timedOut, signal: reply.signal ?? null, payload: reply.payload ?? null };
}

async function saved(
  { step }: Extract<DurableStep, { step: unknown }>,
  { job, saga, fail, performed }: Durable,
): Promise<unknown> {
  const { name, value, throw: error, retries } = step;
  const work = (): unknown => {
    performed(name);
    return error === undefined ? value : fail(error);
  };
  if (saga !== undefined) return await saga.step(name, work, { undo: () => performed(`undo ${name}`) });
  return await job.step(name, work, retries === undefined ? {} : { retries, backoffMs: 1 });
}

/** A child is a job of a type, or a workflow. */
function childOf(
  { type, workflow, payload }: Fields,
  { definitions }: Durable,
): { readonly definition: ChildDefinition; readonly payload: unknown } {
  const definition =
    workflow === undefined
      ? definitionOf(type, definitions)
      : workflowOf(workflow as WorkflowData, definitions);
  return { definition, payload: payload ?? {} };
}
