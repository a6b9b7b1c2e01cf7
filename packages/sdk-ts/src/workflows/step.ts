/** Steps as the code that defines a workflow handles them, and the policies of needs. */
import { InvalidArgumentError } from "../errors.ts";
import type { NeedPolicy } from "../words.ts";
import { type Ref, refTo } from "./reference.ts";

/** A step of the list of steps that `owner` stands for. Other steps can need it. */
export class AnyStep {
  readonly name: string;
  readonly #owner: object;

  constructor(owner: object, name: string) {
    this.#owner = owner;
    this.name = name;
  }

  /** Whether the step is in this list of steps. */
  belongsTo(owner: object): boolean {
    return this.#owner === owner;
  }
}

/** A step with one result. */
export class Step<T = unknown> extends AnyStep {
  /** A reference to what the step returns. A step that uses it needs this step. */
  readonly result: Ref<T>;

  constructor(owner: object, name: string) {
    super(owner, name);
    this.result = refTo<T>({ kind: "$result", path: [name], owner });
  }
}

/**
 * A step with one job for each item. Its result is the list of their results, in the order of the items, with null for
 * an item that did not succeed. Handlers read a long list page by page, with `job.results(definition, name)`.
 */
export class MapStep<T = unknown> extends Step<(T | null)[]> {}

/** A need with a policy: what happens if the needed step ends badly. */
export class Need<S extends AnyStep = AnyStep> {
  readonly step: S;
  readonly policy: NeedPolicy;

  constructor(step: S, policy: NeedPolicy) {
    if (!(step instanceof AnyStep))
      throw new InvalidArgumentError(`${policy}() takes a step`, {
        field: "needs",
        hint: `Pass what w.step() returned, such as ${policy}(draft).`,
      });
    this.step = step;
    this.policy = policy;
  }
}

/** The step runs also if the needed step ended badly. It can read the status and error of the need. */
export function run<S extends AnyStep>(step: S): Need<S> {
  return new Need(step, "run");
}

/** If the needed step ends badly, the step waits until the need is retried or resolved. */
export function wait<S extends AnyStep>(step: S): Need<S> {
  return new Need(step, "wait");
}

/** The step runs only if the needed step ended badly. Otherwise it is skipped. */
export function compensate<S extends AnyStep>(step: S): Need<S> {
  return new Need(step, "compensate");
}
