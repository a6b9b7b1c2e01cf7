/** Cancels jobs in Redis. */
import { type CancelResult, type Job, NotCancelableError } from "@jobforge/sdk-ts";
import { documentText, type StoredDocument } from "../document.ts";
import type { Queues } from "../queues.ts";
import { askToCancel, changeData } from "../scripts.ts";

/** Cancels a job that has not finished. Resolves to its status then: a running job is canceled when its run ends. */
export async function cancelJob(queues: Queues, type: string, job: Job): Promise<CancelResult["status"]> {
  const { id, tenantId } = job;
  const queue = queues.of(type, tenantId);
  for (;;) {
    const from = await queues.client.hget(queue.jobKey(id), "data");
    if (from === null) throw new NotCancelableError();
    const { payload, ...facts } = JSON.parse(from) as StoredDocument;
    if (facts.canceled) throw new NotCancelableError();
    const to = documentText({ ...facts, canceled: true }, JSON.stringify(payload));
    const change = await changeData(queues.client, queue, id, { from, to });
    if (change === "changed") {
      // A worker ends the job when it becomes due, so it becomes due now.
      await queue.store.promote(id).catch(() => undefined);
      return "canceled";
    }
    if (change === "conflict") continue;
    if (await askToCancel(queues.client, queue, id)) return "running";
    throw new NotCancelableError();
  }
}
