/** Job definitions from a scenario's data. */
import { defineJob, type JobDefinition } from "@jobforge/sdk-ts";
import { z } from "zod";
import { type Fields, toOptions } from "./names.ts";

const kinds: Readonly<Record<string, z.ZodType>> = {
  string: z.string(),
  number: z.number(),
  boolean: z.boolean(),
};

/** The definition of a type. A type that the scenario does not define has no options. */
export function definitionOf(type: unknown, definitions: unknown): JobDefinition {
  const {
    input,
    output,
    max_attempts,
    batch_size: _,
    ...options
  } = ((definitions as Fields)?.[String(type)] ?? {}) as Fields;
  return defineJob({
    ...toOptions(options),
    type: type as string,
    ...(input === undefined ? {} : { input: schemaOf(input) }),
    ...(output === undefined ? {} : { output: schemaOf(output) }),
    ...(max_attempts === undefined ? {} : { retry: { maxAttempts: Number(max_attempts) } }),
  });
}

/** An object that has at least these keys. */
function schemaOf(keys: unknown): z.ZodType {
  const shape = Object.entries(keys as Record<string, string>).map(([key, kind]): [string, z.ZodType] => [
    key,
    kinds[kind] ?? z.never(),
  ]);
  return z.object(Object.fromEntries(shape));
}
