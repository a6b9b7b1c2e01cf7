/** Adds jobs to Redis, and says what became of each: created, existing or replaced. */
import type { EnqueueOutcome } from "@jobforge/sdk-ts";
import { documentText, type NewBullJob, type StoredDocument, toBullPriority, toStored } from "../document.ts";
import { movedKey } from "../layout.ts";
import { addAll, mostPerScript } from "../many.ts";
import type { BullQueue, Queues } from "../queues.ts";
import { changeData } from "../scripts.ts";

export interface Added {
  readonly id: string;
  readonly outcome: EnqueueOutcome;
}

/** How often a change is tried again because another caller has changed the same job. */
const mostTries = 10;

/** Adds jobs. Those of one queue keep their order, and share calls. */
export async function addJobs(queues: Queues, jobs: readonly NewBullJob[]): Promise<Added[]> {
  const added: Added[] = new Array(jobs.length);
  const moved = await movedJobs(queues, jobs);
  const byQueue = new Map<BullQueue, number[]>();
  for (const [place, { type, tenantId }] of jobs.entries()) {
    const id = moved.get(place);
    if (id !== undefined) {
      added[place] = { id, outcome: "existing" };
      continue;
    }
    const queue = queues.of(type, tenantId);
    const places = byQueue.get(queue);
    if (places === undefined) byQueue.set(queue, [place]);
    else places.push(place);
  }
  await Promise.all([...byQueue].map(([queue, places]) => addTo(queues, queue, jobs, places, added)));
  return added;
}

/** Adds the jobs of a queue. */
async function addTo(
  queues: Queues,
  queue: BullQueue,
  jobs: readonly NewBullJob[],
  places: readonly number[],
  added: Added[],
): Promise<void> {
  const batch = places.map((place) => jobs[place]).filter((job) => job !== undefined);
  const additions = batch.map((job) => ({ stored: toStored(job), id: job.id }));
  // Small calls of one tick share a call to Redis. They do not wait for a large one.
  const ids =
    batch.length < mostPerScript
      ? await Promise.all(additions.map((addition) => queue.add(addition)))
      : await addAll(queues.client, queue.store, additions);
  const unclear: Promise<void>[] = [];
  for (const [index, job] of batch.entries()) {
    const place = places[index] ?? 0;
    const id = ids[index] ?? job.id;
    if (id === job.id && job.idempotencyKey === undefined) added[place] = { id, outcome: "created" };
    else
      unclear.push(
        outcomeOf(queues, queue, job, id).then((outcome) => {
          added[place] = { id, outcome };
        }),
      );
  }
  await Promise.all(unclear);
}

/** The jobs whose idempotency key a job has that was moved to Redis: its id, by their place. */
async function movedJobs(queues: Queues, jobs: readonly NewBullJob[]): Promise<Map<number, string>> {
  const moved = new Map<number, string>();
  const keyed = [...jobs.entries()].filter(([, { idempotencyKey }]) => idempotencyKey !== undefined);
  await Promise.all(
    keyed.map(async ([place, job]) => {
      const queue = queues.of(job.type, job.tenantId);
      const id = await queues.client.get(movedKey(queue, job.id));
      if (id !== null && (await queues.client.exists(queue.jobKey(id))) > 0) moved.set(place, id);
    }),
  );
  return moved;
}

async function outcomeOf(
  queues: Queues,
  queue: BullQueue,
  job: NewBullJob,
  id: string,
): Promise<EnqueueOutcome> {
  if (id !== job.id) return await merge(queues, queue, job, id);
  // Several calls share this id. The stored document shows whether this call has created the job.
  const stored = await queues.client.hget(queue.jobKey(id), "data");
  return stored === job.data ? "created" : "existing";
}

/** A live job has the same dedupe key. Its payload, priority and tags are replaced, unless it runs. */
async function merge(queues: Queues, queue: BullQueue, job: NewBullJob, id: string): Promise<EnqueueOutcome> {
  if (job.dedupeMode === "skip") return "existing";
  for (let tries = 0; tries < mostTries; tries += 1) {
    const from = await queues.client.hget(queue.jobKey(id), "data");
    if (from === null) return "existing";
    const change = await changeData(queues.client, queue, id, { from, to: merged(from, job) });
    if (change === "not waiting") return "existing";
    if (change === "conflict") continue;
    // It may have started since. Then its priority no longer matters.
    await queue.store.changePriority(id, toBullPriority(job.priority)).catch(() => undefined);
    return "replaced";
  }
  return "existing";
}

/** The older document with the payload, the priority and the tags of the newer one. */
function merged(older: string, { data, priority }: NewBullJob): string {
  const { payload, tags } = JSON.parse(data) as StoredDocument;
  const { payload: _, tags: __, ...facts } = JSON.parse(older) as StoredDocument;
  return documentText(
    { ...facts, priority, ...(tags === undefined ? {} : { tags }) },
    JSON.stringify(payload),
  );
}
