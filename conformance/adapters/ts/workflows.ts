/** Workflows from a scenario's data. */
import {
  compensate,
  defineWorkflow,
  type JobForge,
  run,
  type Step,
  type Steps,
  typed,
  type WorkflowDefinition,
  wait,
} from "@jobforge/sdk-ts";
import { definitionOf } from "./definitions.ts";
import { type Fields, toOptions } from "./names.ts";

export interface StepData {
  readonly name: string;
  readonly type?: string;
  readonly input?: unknown;
  /** The list over which a map runs. */
  readonly map?: unknown;
  readonly signal?: Fields;
  readonly needs?: readonly (string | { readonly step: string; readonly policy: keyof typeof policies })[];
}

export interface WorkflowData {
  readonly name: string;
  readonly steps: readonly StepData[];
  readonly output?: string;
}

const policies = { run, wait, compensate };
type Scope = Readonly<Record<string, unknown>>;

export function workflowOf({ name, steps, output }: WorkflowData, definitions: unknown): WorkflowDefinition {
  return defineWorkflow({
    name,
    input: typed<Fields>(),
    steps: (w, input) => {
      const made = addAll(w, steps, input, definitions);
      return output === undefined ? undefined : made.get(output);
    },
  });
}

/** Adds steps to a list, and returns them by name. */
export function addAll(
  w: Steps,
  steps: readonly StepData[],
  input: unknown,
  definitions: unknown,
): ReadonlyMap<string, Step> {
  const made = new Map<string, Step>();
  for (const step of steps) made.set(step.name, addStep(w, step, made, input, definitions));
  return made;
}

function addStep(
  w: Steps,
  step: StepData,
  made: ReadonlyMap<string, Step>,
  input: unknown,
  definitions: unknown,
): Step {
  const needs = (step.needs ?? []).map((need) =>
    typeof need === "string" ? found(made, need) : policies[need.policy](found(made, need.step)),
  );
  const scope = { input, ...Object.fromEntries([...made].map(([name, { result }]) => [name, result])) };
  if (step.signal !== undefined) return w.signal(step.name, typed(), { ...toOptions(step.signal), needs });
  const job = definitionOf(step.type, definitions);
  if (step.map === undefined) return w.step(step.name, job, filled(step.input, scope) as never, { needs });
  const over = filled(step.map, scope) as never;
  const each = (item: unknown, index: unknown): unknown => filled(step.input, { ...scope, item, index });
  return w.map(step.name, job, over, each as never, { needs });
}

function found(made: ReadonlyMap<string, Step>, name: string): Step {
  const step = made.get(name);
  if (step === undefined) throw new Error(`there is no step ${name} before this one`);
  return step;
}

/** Replaces texts such as `result:a.n`, `input:doc`, `item` and `index` by references. */
function filled(value: unknown, scope: Scope): unknown {
  if (value === "item" || value === "index") return scope[value];
  const [, kind, path] = typeof value === "string" ? (/^(result|input):(.*)$/.exec(value) ?? []) : [];
  if (path !== undefined) {
    const keys = kind === "input" ? ["input", ...path.split(".")] : path.split(".");
    return keys.reduce<unknown>((at, key) => (at as Scope)[key], scope);
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, filled(each, scope)]));
}

export async function start(forge: JobForge, args: Fields): Promise<object> {
  const { workflow, input, definitions, ...options } = args;
  const definition = workflowOf(workflow as WorkflowData, definitions);
  const handle = await forge.start(definition, input, toOptions(options) as never);
  const { id, outcome, status, stepIds } = handle;
  return { id, outcome, status, step_ids: stepIds };
}
