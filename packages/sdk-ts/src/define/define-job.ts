/** Creates job definitions, and binds handlers to them. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { checkDefinition } from "../arguments/definitions.ts";
import { checkFunction, checkRange } from "../arguments/values.ts";
import { bounds } from "../words.ts";
import type {
  BatchHandlerFunction,
  BatchItem,
  HandlerFunction,
  JobDefinition,
  JobDefinitionOptions,
  JobHandler,
} from "./definition.ts";

/**
 * Defines a job: its type, its input and output, how it is retried. The definition types everything else: enqueue,
 * handler, result and list. Throws an InvalidArgumentError if an option is invalid.
 */
export function defineJob<
  const Type extends string,
  Input extends StandardSchemaV1 = StandardSchemaV1,
  Output extends StandardSchemaV1 = StandardSchemaV1,
>(options: JobDefinitionOptions<Type, Input, Output>): JobDefinition<Type, Input, Output> {
  checkDefinition(options);
  const definition: JobDefinition<Type, Input, Output> = {
    ...options,
    handle: (run) => {
      checkFunction(run, "run", "Pass the handler: handle(async (input, job) => { … }).");
      return handler(definition, 1, runEach(run));
    },
    handleBatch: (size, run) => {
      checkRange(size, "size", bounds.batchSize);
      checkFunction(run, "run", "Pass the handler: handleBatch(size, async (items) => [ … ]).");
      return handler(definition, size, run);
    },
  };
  return definition;
}

function handler<Type extends string, Input extends StandardSchemaV1, Output extends StandardSchemaV1>(
  definition: JobDefinition<Type, Input, Output>,
  batchSize: number,
  run: BatchHandlerFunction<Input, Output>,
): JobHandler<Type> {
  // The input has this type, because the worker has validated it with the definition's schema.
  return { definition, batchSize, run: (items) => run(items as readonly BatchItem<Input>[]) };
}

function runEach<Input extends StandardSchemaV1, Output extends StandardSchemaV1>(
  run: HandlerFunction<Input, Output>,
): BatchHandlerFunction<Input, Output> {
  return (items) => Promise.all(items.map(async ({ input, job }) => run(input, job)));
}
