/** Payloads and results that are too large for the database: read from the artifact store, and stored there. */
import {
  ArtifactStoreRequiredError,
  isStoredValue,
  offloadBytes,
  PayloadTooLargeError,
  toStorableJson,
} from "@jobforge/sdk-ts";
import type { Backend } from "../backend.ts";
import { failure, refusal } from "./ending.ts";
import type { Run, Verdict } from "./run.ts";

/** A value as it was before it was offloaded. Rejects if the worker cannot read it. */
export async function readStored(
  run: Run,
  value: unknown,
  { artifacts }: Pick<Backend, "artifacts">,
): Promise<unknown> {
  if (!isStoredValue(value)) return value;
  if (artifacts === undefined)
    throw new ArtifactStoreRequiredError("The value is an artifact, and this worker has no artifact store");
  return await artifacts.resolve(value, { tenantId: run.job.tenant_id, signal: run.signal });
}

/**
 * The end of a run, with a reference instead of a large result if the worker offloads them. Each attempt has a name of
 * its own, because a run that has lost its lease may still store its result.
 */
export async function offloadResult(
  run: Run,
  end: Verdict,
  { offload, backend: { artifacts } }: { readonly offload: boolean; readonly backend: Backend },
): Promise<Verdict> {
  if (!offload || artifacts === undefined || end.status !== "succeeded" || end.result === undefined)
    return end;
  const text = textOf(end.result);
  if (text === undefined || Buffer.byteLength(text) <= offloadBytes) return end;
  try {
    const result = await artifacts.offload(text, {
      area: "results",
      name: `result-${run.attempt}.json`,
      tenantId: run.job.tenant_id,
      jobId: run.id,
      signal: run.signal,
    });
    return { ...end, result, artifact_ref: result.$artifact };
  } catch (error) {
    return error instanceof PayloadTooLargeError ? refusal(error) : failure(error);
  }
}

/** Undefined if the result cannot be written. The end of the run then says why. */
function textOf(result: unknown): string | undefined {
  try {
    return toStorableJson(result, "result").text;
  } catch {
    return undefined;
  }
}
