/** Adds jobs to Redis, and says what became of each: created, existing or replaced. */
import type { EnqueueOutcome } from "@jobforge/sdk-ts";
import { documentText, type JobDocument, type NewBullJob, toBullPriority, toStored } from "../document.ts";
import { movedKey } from "../layout.ts";
import type { BullQueue, Queues } from "../queues.ts";
import { changeData } from "../scripts.ts";

export interface Added {
  readonly id: string;
  readonly outcome: EnqueueOutcome;
}

/** How many jobs one pipeline adds. */
const batchSize = 1000;
/** How often a change is tried again because another caller has changed the same job. */
const mostTries = 10;

/** Adds jobs, in order. Jobs of one queue share a pipeline. */
export async function addJobs(queues: Queues, jobs: readonly NewBullJob[]): Promise<Added[]> {
  const added: Added[] = new Array(jobs.length);
  const byQueue = new Map<BullQueue, number[]>();
  for (const [place, { type, tenantId }] of jobs.entries()) {
    const queue = queues.of(type, tenantId);
    byQueue.set(queue, [...(byQueue.get(queue) ?? []), place]);
  }
  await Promise.all(
    jobs.map(async (job, place) => {
      const id = await movedJob(queues, job);
      if (id !== undefined) added[place] = { id, outcome: "existing" };
    }),
  );
  for (const [queue, every] of byQueue) {
    const places = every.filter((place) => added[place] === undefined);
    for (let from = 0; from < places.length; from += batchSize) {
      const some = places.slice(from, from + batchSize);
      const batch = some.map((place) => jobs[place]).filter((job) => job !== undefined);
      const ids = await queue.store.addJobs(batch.map((job) => ({ job: toStored(job), jobId: job.id })));
      const outcomes = await Promise.all(
        batch.map((job, index) => outcomeOf(queues, queue, job, String(ids[index]))),
      );
      for (const [index, place] of some.entries()) {
        const one = outcomes[index];
        if (one !== undefined) added[place] = one;
      }
    }
  }
  return added;
}

/** The id of a job that has the same idempotency key and was moved to Redis. */
async function movedJob(queues: Queues, job: NewBullJob): Promise<string | undefined> {
  if (job.idempotencyKey === undefined) return undefined;
  const queue = queues.of(job.type, job.tenantId);
  const id = await queues.client.get(movedKey(queue, job.id));
  return id === null || (await queues.client.exists(queue.jobKey(id))) === 0 ? undefined : id;
}

async function outcomeOf(queues: Queues, queue: BullQueue, job: NewBullJob, id: string): Promise<Added> {
  if (id !== job.id) return { id, outcome: await merge(queues, queue, job, id) };
  if (job.idempotencyKey === undefined) return { id, outcome: "created" };
  // Several calls share this id. The stored document shows whether this call has created the job.
  const stored = await queues.client.hget(queue.jobKey(id), "data");
  return { id, outcome: stored === job.data ? "created" : "existing" };
}

/** A live job has the same dedupe key. Its payload, priority and tags are replaced, unless it runs. */
async function merge(queues: Queues, queue: BullQueue, job: NewBullJob, id: string): Promise<EnqueueOutcome> {
  if (job.dedupeMode === "skip") return "existing";
  for (let tries = 0; tries < mostTries; tries += 1) {
    const from = await queues.client.hget(queue.jobKey(id), "data");
    if (from === null) return "existing";
    const change = await changeData(queues.client, queue, id, { from, to: merged(from, job.data) });
    if (change === "not waiting") return "existing";
    if (change === "conflict") continue;
    // It may have started since. Then its priority no longer matters.
    await queue.store.changePriority(id, toBullPriority(job.priority)).catch(() => undefined);
    return "replaced";
  }
  return "existing";
}

/** The older document with the payload, the priority and the tags of the newer one. */
function merged(older: string, newer: string): string {
  const { payload, priority, tags } = JSON.parse(newer) as JobDocument;
  const { payload: _, tags: __, ...facts } = JSON.parse(older) as JobDocument;
  return documentText(
    { ...facts, priority, ...(tags === undefined ? {} : { tags }) },
    JSON.stringify(payload),
  );
}
