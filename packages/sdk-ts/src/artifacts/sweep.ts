/**
 * Deletes the artifacts of jobs that are forgotten. The database says which, and gets a report when they are deleted.
 * After a crash in between, it says so again.
 */
import type { Transport } from "../transport/transport.ts";
import type { ArtifactStore } from "./store.ts";

export interface SweepResult {
  /** The number of jobs whose artifacts were looked at. If it is the limit, there may be more. */
  readonly looked: number;
  /** The number of artifacts that were deleted. */
  readonly deleted: number;
}

interface Folder {
  readonly area: string;
  readonly tenant_id: string;
  readonly id: string;
}

export async function sweepArtifacts(
  transport: Transport,
  store: ArtifactStore,
  limit: number,
  signal: AbortSignal | undefined,
): Promise<SweepResult> {
  const options = { signal };
  const { looked, gone } = await transport.call<{ looked: number; gone: Folder[] }>(
    "jobforge_take_artifacts",
    { p_limit: limit },
    options,
  );
  let deleted = 0;
  const emptied: Folder[] = [];
  try {
    for (const folder of gone) {
      signal?.throwIfAborted();
      for await (const { ref } of store.list(`${folder.area}/${folder.tenant_id}/${folder.id}/`)) {
        await store.delete(ref);
        deleted += 1;
      }
      emptied.push(folder);
    }
  } finally {
    // What was deleted is reported, even if the store then failed.
    if (emptied.length > 0)
      await transport.call("jobforge_forget_artifacts", { p_artifacts: emptied }, options);
  }
  return { looked, deleted };
}
