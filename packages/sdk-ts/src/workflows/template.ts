/** Turns the input of a step, which may hold references, into the JSON of the graph. */
import { InvalidArgumentError } from "../errors.ts";
import { type RefTarget, refJson, refTarget } from "./reference.ts";

/** The kernel looks for references this many objects and arrays deep. */
const maxDepth = 3;

export interface Template {
  readonly json: unknown;
  readonly targets: readonly RefTarget[];
}

/** `owner` is the list of steps: a reference of another list means something else there. */
export function readTemplate(value: unknown, owner: object, field: string): Template {
  const targets: RefTarget[] = [];
  const walk = (each: unknown, place: string, depth: number): unknown => {
    const target = refTarget(each);
    if (target !== undefined) {
      if (depth > maxDepth) refuseDepth(place);
      checkOwner(target, owner, place);
      targets.push(target);
      return refJson(target);
    }
    if (depth > maxDepth) return refuseInside(each, place);
    if (Array.isArray(each)) return each.map((inner, index) => walk(inner, `${place}[${index}]`, depth + 1));
    if (!isPlain(each)) return refuseInside(each, place);
    const entries = Object.entries(each);
    if (entries.some(([key]) => key.startsWith("$"))) {
      refuseInside(each, place);
      return { $literal: each };
    }
    return Object.fromEntries(
      entries.map(([key, inner]) => [key, walk(inner, `${place}.${key}`, depth + 1)]),
    );
  };
  return { json: walk(value, field, 0), targets };
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function checkOwner(target: RefTarget, owner: object, place: string): void {
  if (target.owner !== owner)
    throw new InvalidArgumentError(`Invalid argument: ${place} refers to a step of another list of steps`, {
      field: place,
      hint: "Pass the value to the sub-workflow as a part of its input.",
    });
}

function refuseDepth(place: string): never {
  throw new InvalidArgumentError(`Invalid argument: ${place} has a reference where none is replaced`, {
    field: place,
    hint: `References are replaced in objects and arrays, ${maxDepth} levels deep. Refer to a larger part of the value.`,
  });
}

/** A value without references, as it is. A reference in it would not be replaced. */
function refuseInside(value: unknown, place: string): unknown {
  const seen = new Set<unknown>();
  const walk = (each: unknown): void => {
    if (refTarget(each) !== undefined) refuseDepth(place);
    if (typeof each !== "object" || each === null || seen.has(each)) return;
    seen.add(each);
    for (const inner of Object.values(each)) walk(inner);
  };
  walk(value);
  return value;
}
