/** Stores large payloads of jobs that are about to be enqueued. Their jobs get a reference instead. */
import type { Artifacts } from "../artifacts/artifacts.ts";
import { offloadBytes } from "../artifacts/stored-value.ts";
import { JsonText } from "../json.ts";
import { ArtifactStoreRequiredError } from "../sdk-errors.ts";
import type { PreparedJob } from "./prepare.ts";

/** Each payload is held in memory while it is sent. */
const atOnce = 4;

/**
 * Returns the jobs with references instead of large payloads, where `offload` asks for it. The payloads are stored
 * first and enqueued afterwards, so that no worker sees a job without its payload. Payloads whose job is not enqueued
 * after all, because of an error or a rollback, are deleted after a day.
 */
export async function offloadAll(artifacts: Artifacts, jobs: readonly PreparedJob[]): Promise<PreparedJob[]> {
  if (jobs.some(({ offload }) => offload) && !artifacts.canOffload()) throw new ArtifactStoreRequiredError();
  const done = [...jobs];
  // The lanes share one iterator.
  const large = [...done.keys()].filter((place) => isLarge(done[place])).values();
  const lanes = Array.from({ length: atOnce }, async () => {
    for (const place of large) {
      const job = done[place];
      if (job !== undefined) done[place] = await offloadOne(artifacts, job);
    }
  });
  await Promise.all(lanes);
  return done;
}

export function isLarge(job: PreparedJob | undefined): boolean {
  // A character has at most three bytes here.
  const { text = "" } = job?.payload ?? {};
  if (job?.offload !== true || text.length * 3 <= offloadBytes) return false;
  return Buffer.byteLength(text) > offloadBytes;
}

async function offloadOne(artifacts: Artifacts, job: PreparedJob): Promise<PreparedJob> {
  const { tenantId, payload } = job;
  const stored = await artifacts.offload(payload.text, { area: "payloads", name: "payload.json", tenantId });
  return { ...job, payload: new JsonText(JSON.stringify(stored)) };
}
