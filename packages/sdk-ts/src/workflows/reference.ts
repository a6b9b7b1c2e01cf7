/**
 * References: values that are known only when a workflow runs, such as the result of a step. While a workflow is
 * defined, a reference stands for the value, and its properties are references, too: `audio.result.path`. In the graph
 * it is JSON such as `{"$result": "audio.path"}`, which the kernel replaces when the step starts.
 */
import { InvalidArgumentError } from "../errors.ts";

declare const refers: unique symbol;

/** A reference to a value of type `T`, without its properties. It exists for the compiler only. */
export interface Reference<T> {
  readonly [refers]: T;
}

/** A reference to a value of type `T`. Its properties are references to the properties of the value. */
export type Ref<T> = Reference<T> & RefProperties<T>;

type RefProperties<T> = unknown extends T ? unknown : { readonly [K in KeysOf<T>]-?: Ref<PropertyOf<T, K>> };

/** The keys of every member of a union. An element of an array has a number. */
type KeysOf<T> = T extends readonly unknown[] ? number : T extends object ? keyof T : never;

/** The kernel passes null for what is missing. */
type PropertyOf<T, K extends PropertyKey> = T extends readonly (infer E)[]
  ? E | null
  : T extends object
    ? K extends keyof T
      ? undefined extends T[K]
        ? Exclude<T[K], undefined> | null
        : T[K]
      : null
    : null;

/** What a step is given: its input, in which any part may be a reference to a value of the right type. */
export type StepInput<T> = unknown extends T ? unknown : Reference<T> | PlainInput<T>;

type PlainInput<T> = T extends { toJSON(): unknown } | ((...args: never) => unknown)
  ? T
  : T extends object
    ? { readonly [K in keyof T]: StepInput<T[K]> }
    : T;

/** The value that a template of references has when the workflow runs. */
export type Resolved<T> =
  T extends Reference<infer V>
    ? V
    : T extends string | number | boolean | null | undefined
      ? T
      : T extends object
        ? { -readonly [K in keyof T]: Resolved<T[K]> }
        : T;

/** The word of the kernel for what a reference points to. */
export type RefKind = "$result" | "$input" | "$item" | "$index";

export interface RefTarget {
  readonly kind: RefKind;
  /** Of a result: the name of its step, then the path in the result. */
  readonly path: readonly string[];
  /** The list of steps to which it belongs. */
  readonly owner: object;
}

const targets = new WeakMap<object, RefTarget>();

/** A reference; its properties are made when they are read. It can be called, so that the call says what is wrong. */
export function refTo<T>(target: RefTarget): Ref<T> {
  const known = new Map<string, unknown>();
  const proxy: object = new Proxy(() => undefined, {
    apply: () => refuseCall(target),
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
    get: (_, key) => {
      // Promises and JSON look for these two. A reference is neither a promise nor a value.
      if (key === "then" || key === "toJSON") return undefined;
      if (typeof key === "symbol") return refuseValue(target, key);
      let property = known.get(key);
      property ??= refTo({ ...target, path: [...target.path, key] });
      known.set(key, property);
      return property;
    },
  });
  targets.set(proxy, target);
  return proxy as Ref<T>;
}

/** What a reference points to; undefined for other values. */
export function refTarget(value: unknown): RefTarget | undefined {
  return typeof value === "function" ? targets.get(value) : undefined;
}

/** The reference as the kernel reads it. Its path is a text with dots, or an array if a key has a dot itself. */
export function refJson({ kind, path }: RefTarget): Record<string, unknown> {
  if (kind === "$index") return { [kind]: true };
  return { [kind]: path.some((key) => key.includes(".") || key === "") ? path : path.join(".") };
}

function describe({ kind, path }: RefTarget): string {
  return [kind.slice(1), ...path].join(".");
}

/** A text or a number made of a reference would not be what the code seems to say. */
function refuseValue(target: RefTarget, key: symbol): undefined {
  if (key !== Symbol.toPrimitive && key !== Symbol.iterator) return undefined;
  throw new InvalidArgumentError(`${describe(target)} has no value while the workflow is defined`, {
    hint: "Pass the reference itself as a part of a step's input, and compute with it in the handler.",
  });
}

function refuseCall(target: RefTarget): never {
  throw new InvalidArgumentError(`${describe(target)} is a reference, which has no methods`, {
    hint: "To run a job for each item of a list, use w.map(). Compute anything else in a handler.",
  });
}
