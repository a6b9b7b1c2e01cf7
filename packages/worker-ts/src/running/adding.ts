/** Steps that a run adds to its workflow: with its success, or at once. */
import {
  type AddedStepCount,
  type AddedSteps,
  type AddStepsOptions,
  buildSteps,
  InvalidArgumentError,
  JsonText,
  NotSupportedError,
} from "@jobforge/sdk-ts";
import type { DatabaseParts } from "../backend.ts";
import { callTimeoutMs } from "../defaults.ts";
import { isNotHeld } from "../errors.ts";
import type { ContextServices } from "./context.ts";
import type { Run } from "./run.ts";

/** Adds the steps with the success of the run. Several calls make one list. */
export function addSteps(
  services: ContextServices,
  run: Run,
  build: (w: AddedSteps) => void,
  { detached = false }: AddStepsOptions = {},
): void {
  requireDatabase("addSteps()", services);
  if (run.added !== undefined && run.added.detached !== detached)
    throw new InvalidArgumentError("Invalid argument: one run adds steps that are detached, and others", {
      field: "detached",
      hint: "Use addStepsNow() for one of the two.",
    });
  run.added = { w: buildSteps(build, run.added?.w), detached };
}

/** Adds the steps at once, under the fence of the run. */
export async function addStepsNow(
  services: ContextServices,
  run: Run,
  build: (w: AddedSteps) => void,
  { detached = false }: AddStepsOptions = {},
): Promise<AddedStepCount> {
  const { transport } = requireDatabase("addStepsNow()", services);
  const args = {
    // That of the step of this run.
    p_workflow_id: null,
    p_tenant_id: run.job.tenant_id,
    p_steps: new JsonText(JSON.stringify(buildSteps(build).json)),
    p_job_id: run.id,
    p_worker_id: services.backend.workerId,
    p_attempt: run.attempt,
    p_detached: detached,
  };
  try {
    return await transport.call("jobforge_add_steps", args, { timeoutMs: callTimeoutMs });
  } catch (error) {
    if (isNotHeld(error)) services.lost(run);
    throw error;
  }
}

function requireDatabase(method: string, { backend }: ContextServices): DatabaseParts {
  if (backend.database !== undefined) return backend.database;
  throw new NotSupportedError(`${method} is not supported: workflows are only in Postgres`, {
    hint: "Keep this type on Postgres.",
  });
}
