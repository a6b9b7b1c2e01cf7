/** Children of a run: in the form that the database takes, and how they ended. */
import {
  type ChildCall,
  type ChildDefinition,
  type EnqueueOptions,
  InvalidArgumentError,
  type JobDefinition,
  jobJson,
  prepareJob,
  prepareStart,
  readOutput,
  type SettledChild,
  type StartOptions,
  startJson,
  type WorkflowDefinition,
} from "@jobforge/sdk-ts";
import type { ChildResult } from "./checkpoints.ts";

/** Rejects if the child is invalid, or is to be offloaded: it is enqueued by the settle of its parent. */
export async function childJson(
  job: JobDefinition,
  input: unknown,
  options: EnqueueOptions,
): Promise<unknown> {
  const prepared = await prepareJob(job, input, options);
  if (prepared.offload)
    throw new InvalidArgumentError("Invalid argument: the payload of a child cannot be offloaded", {
      field: "offload",
      hint: "Store the content with forge.artifacts.put() and pass its reference, or use forge.enqueue().",
    });
  return JSON.parse(jobJson(prepared).text);
}

/** Whether a child is a workflow. */
export function isWorkflow(definition: ChildDefinition | undefined): definition is WorkflowDefinition {
  return typeof definition === "object" && "graph" in definition;
}

/** A workflow that a job waits for. Rejects if its input or an option is invalid. */
export async function childWorkflowJson(
  workflow: WorkflowDefinition,
  input: unknown,
  options: StartOptions,
): Promise<unknown> {
  const prepared = await prepareStart(workflow, input, options);
  const { name, ...rest } = JSON.parse(startJson(prepared)) as Record<string, unknown>;
  return { workflow: name, ...rest };
}

/** What a child is called: the type of a job, or the name of a workflow. */
export function nameOfChild(call: ChildCall | undefined): string {
  if (call === undefined) return "";
  return isWorkflow(call.definition) ? call.definition.name : call.definition.type;
}

/** How a child ended, as `all()` returns it with `settled`. */
export async function settledChild(
  call: ChildCall | undefined,
  { status, result, error }: ChildResult,
): Promise<SettledChild<unknown>> {
  if (status === "succeeded") {
    const definition = call?.definition;
    // The output of a workflow is JSON that was put together from results: no schema reads it.
    return { status, value: isWorkflow(definition) ? result : await readOutput(definition, result) };
  }
  // Children are no steps of a graph, so none is skipped.
  return { status: status === "skipped" ? "canceled" : status, error: error ?? undefined };
}
