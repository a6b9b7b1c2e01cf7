/** Workflow definitions: the types, `defineWorkflow`, and `buildWorkflow` for graphs that are made at run time. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { checkFunction, checkKnown, checkText, requireObject } from "../arguments/values.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { Jsonified } from "../jobs/job.ts";
import type { FailureAction } from "../words.ts";
import { bounds } from "../words.ts";
import { type StepJson, Steps } from "./builder.ts";
import { type Ref, type Reference, type Resolved, refTo } from "./reference.ts";
import { type AnyStep, Step } from "./step.ts";
import { readTemplate } from "./template.ts";

/** What the function that makes the steps may return: the output of the workflow. */
export type OutputTemplate =
  | (AnyStep & { readonly result: Reference<unknown> })
  | Reference<unknown>
  | Readonly<Record<string, unknown>>
  | undefined
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing is allowed here
  | void;

type OutputOf<R> =
  R extends Step<infer T> ? T : R extends Reference<infer T> ? T : R extends object ? Resolved<R> : undefined;

/** The steps of a workflow and the template of its output, as the kernel reads them. */
export interface WorkflowGraph {
  readonly steps: readonly StepJson[];
  readonly output?: unknown;
}

export interface WorkflowDefinition<
  Name extends string = string,
  Input extends StandardSchemaV1 = StandardSchemaV1,
  Output = unknown,
> {
  readonly name: Name;
  /** For people; each run keeps the graph with which it was started. */
  readonly version: string | undefined;
  readonly input: Input | undefined;
  readonly onFailure: FailureAction | undefined;
  readonly retentionDays: number | undefined;
  readonly graph: WorkflowGraph;
  /** For the compiler only. */
  readonly output?: Output;
}

export interface WorkflowDefinitionOptions<Name extends string, Input extends StandardSchemaV1, Returned> {
  readonly name: Name;
  readonly version?: string | undefined;
  /** Checks the input at the start. Without a schema, the input is any JSON. */
  readonly input?: Input | undefined;
  /** `finish` (default): after a failure the other steps go on. `cancel`: nothing more starts. */
  readonly onFailure?: FailureAction | undefined;
  readonly retentionDays?: number | undefined;
  /** Makes the steps. It is called once, when the workflow is defined. It returns the output of the workflow. */
  steps(w: Steps, input: Ref<Jsonified<StandardSchemaV1.InferInput<Input>>>): Returned;
}

/** The input that a caller passes to start the workflow. */
export type WorkflowInput<W> =
  W extends WorkflowDefinition<string, infer I, unknown> ? StandardSchemaV1.InferInput<I> : never;
/** The output of the workflow. */
export type WorkflowOutput<W> = W extends WorkflowDefinition<string, StandardSchemaV1, infer O> ? O : never;

export interface StartOptions {
  readonly tenantId: string;
  /** There is one workflow per tenant, name and key, until the workflow is forgotten. */
  readonly idempotencyKey?: string | undefined;
  /** There is one running workflow per tenant, name and key. */
  readonly dedupeKey?: string | undefined;
  /** The first steps do not start before this time. */
  readonly runAt?: Date | undefined;
  /** A workflow that is not over by then ends as failed, with the reason `deadline`. */
  readonly deadline?: Date | undefined;
  /** The deadline as a time span from the start. */
  readonly timeoutMs?: number | undefined;
  /** Steps without needs do not start after this time. */
  readonly expiresAt?: Date | undefined;
  /** The priority of steps that do not set their own. */
  readonly priority?: number | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly subject?: string | undefined;
  readonly onFailure?: FailureAction | undefined;
  readonly retentionDays?: number | undefined;
  /** A W3C trace context header. Default: the active span, if the process has OpenTelemetry. */
  readonly traceparent?: string | undefined;
}

const definitionNames = ["name", "version", "input", "onFailure", "retentionDays", "steps"];

/**
 * Defines a workflow: steps that need each other. The input and the results of steps are typed references, from which
 * the inputs of other steps are made. A wrong type, a missing input or a step that does not exist is an error of the
 * compiler. Throws an InvalidArgumentError if the definition is invalid.
 */
export function defineWorkflow<
  const Name extends string,
  Input extends StandardSchemaV1 = StandardSchemaV1,
  Returned extends OutputTemplate = undefined,
>(
  options: WorkflowDefinitionOptions<Name, Input, Returned>,
): WorkflowDefinition<Name, Input, OutputOf<Returned>> {
  requireObject(options, "options", "Pass defineWorkflow({ name, steps: (w, input) => { … } }).");
  checkKnown(options, definitionNames, { aliases: { id: "name", type: "name", schema: "input" } });
  const { name, version, input, onFailure, retentionDays } = options;
  checkText(name, "name", bounds.workflowNameBytes);
  checkFunction(options.steps, "steps", "Pass a function that makes the steps: (w, input) => { … }.");
  const w = new Steps();
  const returned = options.steps(w, refTo({ kind: "$input", path: [], owner: w }));
  return { name, version, input, onFailure, retentionDays, graph: graphOf(w, returned) };
}

/**
 * Builds a workflow whose steps are computed, such as one for each file of a list. It is started like a definition,
 * with an empty input: `forge.start(buildWorkflow("import", (w) => { … }), {}, { tenantId })`.
 */
export function buildWorkflow<const Name extends string, Returned extends OutputTemplate = undefined>(
  name: Name,
  steps: (w: Steps) => Returned,
  options: Omit<WorkflowDefinitionOptions<Name, StandardSchemaV1, Returned>, "name" | "input" | "steps"> = {},
): WorkflowDefinition<Name, StandardSchemaV1, OutputOf<Returned>> {
  checkFunction(steps, "steps", "Pass a function that makes the steps: (w) => { … }.");
  return defineWorkflow<Name, StandardSchemaV1, Returned>({ ...options, name, steps });
}

function graphOf(w: Steps, returned: OutputTemplate): WorkflowGraph {
  if (w.json.length === 0)
    throw new InvalidArgumentError("Invalid argument: a workflow needs at least one step", {
      field: "steps",
      hint: 'Add steps: w.step("name", job, input).',
    });
  if (returned === undefined) return { steps: w.json };
  if (returned instanceof Promise)
    throw new InvalidArgumentError("Invalid argument: steps must not be an async function", {
      field: "steps",
      hint: "Make the steps without await. Handlers do the work, when the workflow runs.",
    });
  const template = returned instanceof Step ? returned.result : returned;
  return { steps: w.json, output: readTemplate(template, w, "output").json };
}
