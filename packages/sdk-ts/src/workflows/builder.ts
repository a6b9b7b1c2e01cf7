/** Builds a list of steps: of a workflow, or of a sub-workflow. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { checkDefinitionOf } from "../arguments/names.ts";
import { checkFunction, describe, refuse, requireObject } from "../arguments/values.ts";
import type { JobDefinition, JobInput } from "../define/definition.ts";
import { retryOf } from "../define/retry.ts";
import { checkPayload } from "../enqueue/payload.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { Jsonified } from "../jobs/job.ts";
import { toJson } from "../json.ts";
import { toKeys } from "../rows.ts";
import { bounds, stepNamePattern } from "../words.ts";
import type { WorkflowDefinition, WorkflowInput, WorkflowOutput } from "./definition.ts";
import {
  type JobStepOptions,
  type NeedJson,
  needsJson,
  type SignalOptions,
  type StepOptions,
} from "./needs.ts";
import { checkJobStepOptions, checkSignalOptions, checkStepOptions } from "./option-checks.ts";
import { type Ref, type Reference, refTarget, refTo, type StepInput } from "./reference.ts";
import { MapStep, Step } from "./step.ts";
import { readTemplate, type Template } from "./template.ts";

/** A step as the kernel reads it. */
export type StepJson = Readonly<Record<string, unknown>> & {
  readonly name: string;
  readonly needs?: readonly NeedJson[];
};

/** What the handler of a job returned, as it is stored: the result of its step. */
export type JobResult<D> =
  D extends JobDefinition<string, StandardSchemaV1, infer O>
    ? Jsonified<StandardSchemaV1.InferInput<O>>
    : never;

/** What a signal step returns if nothing arrived in time and the workflow goes on. */
export interface SignalTimeout {
  readonly timed_out: true;
}

type SignalResult<S extends StandardSchemaV1, O> = O extends { readonly onTimeout: "continue" }
  ? Jsonified<StandardSchemaV1.InferInput<S>> | SignalTimeout
  : Jsonified<StandardSchemaV1.InferInput<S>>;

/**
 * The argument `w` of the function that defines a workflow. A step may need steps that were made before it, so a
 * workflow has no cycles.
 */
export class Steps {
  readonly #steps: StepJson[] = [];
  readonly #names = new Set<string>();

  /** The steps so far, as the kernel reads them. */
  get json(): readonly StepJson[] {
    return this.#steps;
  }

  /**
   * A step that runs a job. Its input is the input of the job, in which any part may be a reference, such as
   * `audio.result.path`. It needs the steps to which its input refers, and those in `needs`.
   */
  step<D extends JobDefinition>(
    name: string,
    job: D,
    input: StepInput<JobInput<D>>,
    options: JobStepOptions = {},
  ): Step<JobResult<D>> {
    checkName(name, 'w.step("name", job, input)');
    const template = this.#jobTemplate(name, job, input);
    this.#add(name, { ...jobKeys(job, input, template, options, name) }, [template], options);
    return new Step(this, name);
  }

  /**
   * A step with one job for each item of a list, in the order of the list. The list is an array, or a reference to
   * one, such as the result of a step. `each` makes the input of a job from its item; without it, the item is the
   * input.
   */
  map<D extends JobDefinition>(
    name: string,
    job: D,
    over: Reference<readonly JobInput<D>[]> | readonly JobInput<D>[],
    each?: undefined,
    options?: JobStepOptions,
  ): MapStep<JobResult<D>>;
  map<D extends JobDefinition, E>(
    name: string,
    job: D,
    over: Reference<readonly E[]> | readonly E[],
    each: (item: Ref<E>, index: Ref<number>) => StepInput<JobInput<D>>,
    options?: JobStepOptions,
  ): MapStep<JobResult<D>>;
  map<D extends JobDefinition>(
    name: string,
    job: D,
    over: unknown,
    each: ((item: Ref<unknown>, index: Ref<number>) => unknown) | undefined = (item) => item,
    options: JobStepOptions = {},
  ): MapStep<JobResult<D>> {
    checkName(name, 'w.map("name", job, list, (item) => input)');
    checkFunction(each, `steps.${name}.each`, "Pass a function that makes the input of a job from its item.");
    const item = refTo<unknown>({ kind: "$item", path: [], owner: this });
    const index = refTo<number>({ kind: "$index", path: [], owner: this });
    const input = each(item, index);
    const template = this.#jobTemplate(name, job, input);
    const list = this.#listTemplate(name, over);
    const keys = jobKeys(job, input, template, options, name);
    this.#add(name, { ...keys, map: { over: list.json } }, [template, list], options);
    return new MapStep(this, name);
  }

  /**
   * A step that waits for a signal, such as an approval. The schema types its result, which is the payload of the
   * signal. The time for `timeoutMs` begins when the needs of the step are done.
   */
  signal<S extends StandardSchemaV1, const O extends SignalOptions = SignalOptions>(
    name: string,
    schema: S,
    options?: O,
  ): Step<SignalResult<S, O>> {
    checkName(name, 'w.signal("name", schema)');
    if (typeof schema !== "function" && (typeof schema !== "object" || !("~standard" in schema)))
      refuse(
        `steps.${name}.schema`,
        "must be a Standard Schema",
        "Pass a schema, or typed<{ by: string }>().",
      );
    const { needs: _, signal, timeoutMs, onTimeout, ...rest } = checkSignalOptions(options ?? {}, name);
    const keys = { signal: toKeys({ name: signal, timeoutMs, onTimeout }), ...toKeys(rest) };
    this.#add(name, keys, [], options ?? {});
    return new Step(this, name);
  }

  /** A step that runs the steps of another workflow as a part of this one. Its result is that workflow's output. */
  workflow<W extends WorkflowDefinition>(
    name: string,
    workflow: W,
    input: StepInput<WorkflowInput<W>>,
    options: StepOptions = {},
  ): Step<WorkflowOutput<W>> {
    checkName(name, 'w.workflow("name", workflow, input)');
    const { graph } = requireObject(
      workflow,
      `steps.${name}.workflow`,
      "Pass what defineWorkflow() returns.",
    );
    const { needs: _, ...rest } = checkStepOptions(options, name);
    const template = readTemplate(input, this, `steps.${name}.input`);
    if (template.targets.length === 0) checkStatic(workflow.input, input, `steps.${name}.input`);
    const payload = storable(template.json, `steps.${name}.input`);
    const output = graph.output === undefined ? {} : { output: graph.output };
    this.#add(name, { payload, steps: graph.steps, ...output, ...toKeys(rest) }, [template], options);
    return new Step(this, name);
  }

  #jobTemplate(name: string, job: JobDefinition, input: unknown): Template {
    checkDefinitionOf(job, `steps.${name}.`);
    const template = readTemplate(input, this, `steps.${name}.input`);
    if (template.targets.length === 0) checkStatic(job.input, input, `steps.${name}.input`);
    return template;
  }

  #listTemplate(name: string, over: unknown): Template {
    const field = `steps.${name}.over`;
    if (refTarget(over) !== undefined) return readTemplate(over, this, field);
    if (!Array.isArray(over)) refuse(field, "must be an array, or a reference to one");
    return { json: storable(over, field), targets: [] };
  }

  #add(
    name: string,
    keys: Readonly<Record<string, unknown>>,
    templates: readonly Template[],
    options: StepOptions,
  ): void {
    if (!stepNamePattern.test(name) || name.length > bounds.stepNameBytes.max)
      refuse(
        `steps.${name}.name`,
        "must have 1 to 200 letters, digits and _ : @ -, and begin with a letter, a digit or _",
      );
    if (this.#names.has(name))
      throw new InvalidArgumentError(`Invalid argument: there are two steps with the name ${name}`, {
        field: `steps.${name}`,
        hint: "Give each step of a list its own name.",
      });
    const needs = needsJson(this, name, options.needs ?? [], templates);
    this.#names.add(name);
    this.#steps.push({ name, ...keys, ...(needs.length === 0 ? {} : { needs }) });
  }
}

/** Checks that the first argument is a name at all: it is easily left out. */
function checkName(name: unknown, call: string): void {
  if (typeof name !== "string") refuse("name", `must be a text, not ${describe(name)}`, `Pass ${call}.`);
}

/** Steps that are added to a workflow that runs. They may need steps that it has. */
export class AddedSteps extends Steps {
  /** A step that exists: of the same workflow or, in the handler of a step, one that this step has added before. */
  existing<T = unknown>(name: string): Step<T> {
    return new Step<T>(this, name);
  }
}

/** The steps that a function adds. Throws an InvalidArgumentError if it adds none. */
export function buildSteps(build: (w: AddedSteps) => void, w: AddedSteps = new AddedSteps()): AddedSteps {
  checkFunction(build, "steps", "Pass a function that makes the steps: (w) => { … }.");
  const before = w.json.length;
  if ((build(w) as unknown) instanceof Promise) refuse("steps", "must not be an async function");
  if (w.json.length === before)
    refuse("steps", "must add at least one step", 'Write w.step("name", job, input).');
  return w;
}

/** The keys of a step that runs a job, with what its definition says. */
function jobKeys(
  job: JobDefinition,
  input: unknown,
  template: Template,
  options: JobStepOptions,
  name: string,
): Record<string, unknown> {
  const { needs: _, ...own } = checkJobStepOptions(options, name);
  const tags = job.tags === undefined ? own.tags : [...new Set([...job.tags, ...(own.tags ?? [])])];
  const isStatic = template.targets.length === 0;
  return {
    type: job.type,
    payload: storable(template.json, `steps.${name}.input`),
    ...toKeys({
      ...own,
      tags,
      maxAttempts: own.maxAttempts ?? retryOf(job)?.maxAttempts,
      priority: own.priority ?? job.priority,
      // The subject of an input that has references is not known yet.
      subject: own.subject ?? (isStatic ? job.subject?.(input) : undefined),
    }),
  };
}

/** An input without references is known now. An asynchronous schema is left to the worker. */
function checkStatic(schema: StandardSchemaV1 | undefined, input: unknown, field: string): void {
  const { checked } = checkPayload(schema, input, field);
  if (checked instanceof Promise) checked.catch(() => undefined);
}

/** A copy that later changes of the caller's objects do not change. */
function storable(value: unknown, field: string): unknown {
  return JSON.parse(toJson(value, field).text);
}
