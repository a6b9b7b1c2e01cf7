/** What a step needs, and the options of steps. */
import { refuse } from "../arguments/values.ts";
import type { NeedPolicy, TimeoutAction } from "../words.ts";
import { AnyStep, Need } from "./step.ts";
import type { Template } from "./template.ts";

export interface StepOptions {
  /** Steps that must be done before, in addition to those to which the input refers. */
  readonly needs?: readonly (AnyStep | Need)[] | undefined;
  /** If true, a bad end of the step does not fail the workflow. */
  readonly optional?: boolean | undefined;
  /** If true, the step runs also after a cancel, a deadline or a failure that ends the workflow early. */
  readonly cleanup?: boolean | undefined;
}

/** The options of a step that runs a job. Its name is its key, so it has no idempotency key. */
export interface JobStepOptions extends StepOptions {
  /** The job starts this many milliseconds after its needs are done. */
  readonly delayMs?: number | undefined;
  readonly maxAttempts?: number | undefined;
  readonly priority?: number | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly subject?: string | undefined;
  readonly concurrencyKey?: string | undefined;
  readonly expiresAt?: Date | undefined;
}

export interface SignalOptions extends StepOptions {
  /** The name of the signal. Default: the name of the step. */
  readonly signal?: string | undefined;
  /** How long the step waits, counted from when its needs are done. Default: for ever. */
  readonly timeoutMs?: number | undefined;
  /** `fail` (default): the step fails. `continue`: it succeeds with the result `{ timed_out: true }`. */
  readonly onTimeout?: TimeoutAction | undefined;
}

/** A need as the kernel reads it. */
export type NeedJson = string | { readonly step: string; readonly policy: NeedPolicy };

/** The needs of a step: those that are named, with their policies, and those to which its input refers. */
export function needsJson(
  owner: object,
  name: string,
  named: readonly (AnyStep | Need)[],
  templates: readonly Template[],
): readonly NeedJson[] {
  const field = `steps.${name}.needs`;
  if (!Array.isArray(named)) refuse(field, "must be an array of steps", "Pass [step], or [run(step)].");
  const needs = new Map<string, NeedJson>();
  for (const [index, each] of named.entries()) {
    const step = each instanceof Need ? each.step : each;
    const place = `${field}[${index}]`;
    if (!(step instanceof AnyStep))
      refuse(place, "must be a step", "Pass what w.step() returned, or a policy such as run(step).");
    if (!step.belongsTo(owner)) refuse(place, `must be a step of this list, and ${step.name} is not`);
    if (needs.has(step.name)) refuse(place, `must not repeat ${step.name}`);
    needs.set(step.name, each instanceof Need ? { step: step.name, policy: each.policy } : step.name);
  }
  for (const { kind, path } of templates.flatMap(({ targets }) => targets)) {
    const [step] = path;
    if (kind === "$result" && step !== undefined && !needs.has(step)) needs.set(step, step);
  }
  return [...needs.values()];
}
