/** Hides jobs of BullMQ's queues from workers, and deletes them when Postgres has them. Each is one script. */
import { createHash } from "node:crypto";
import type { RedisClient } from "../connection.ts";
import { readDocument } from "../document.ts";
import { idOfKey, movedKey } from "../layout.ts";
import { type BullQueue, ticksPerMs } from "../queues.ts";
import { readRecord } from "../record.ts";
import { recordField } from "../scripts.ts";
import { fromStored, type MovedJob, parkedMs } from "./document.ts";

/** The sorted set of hidden jobs, by the time when they are due. */
function hiddenKey({ store }: BullQueue): string {
  return store.toKey("jf:moving");
}

/**
 * Takes a job out of the set or list in which it waits. A job that does not wait for its time is due since its enqueue.
 * A job that is parked for another move is left.
 */
const hide = `
local due = redis.call("HGET", KEYS[5], "timestamp") or ARGV[2]
local score = redis.call("ZSCORE", KEYS[2], ARGV[1])
if score then
  due = math.floor(tonumber(score) / ${ticksPerMs})
  if due > tonumber(ARGV[3]) then return 0 end
  redis.call("ZREM", KEYS[2], ARGV[1])
elseif redis.call("ZREM", KEYS[1], ARGV[1]) == 0 and redis.call("LREM", KEYS[3], 1, ARGV[1]) == 0 then
  return 0
end
redis.call("ZADD", KEYS[4], due, ARGV[1])
return 1`;

/**
 * Deletes a hidden job that is still what the mover has read, with the keys that lead to it: its dedupe key may have
 * gone to another job. Returns 0 if a caller has changed or canceled the job since.
 */
const remove = `
local data = redis.call("HGET", KEYS[2], "data")
if data and redis.sha1hex(data) ~= ARGV[3] then return 0 end
if redis.call("GET", KEYS[3]) == ARGV[1] then redis.call("DEL", KEYS[3]) end
local dedupe = redis.call("HGET", KEYS[2], "deid")
if dedupe and redis.call("GET", ARGV[2] .. dedupe) == ARGV[1] then redis.call("DEL", ARGV[2] .. dedupe) end
redis.call("DEL", KEYS[2])
redis.call("ZREM", KEYS[1], ARGV[1])
return 1`;

const states = ["wait", "prioritized", "delayed"] as const;

/** The ids of up to `limit` jobs that wait in a queue, and how many wait in all. */
export async function waitingJobs(
  { store }: BullQueue,
  limit: number,
): Promise<{ readonly ids: readonly string[]; readonly total: number }> {
  const counts = await store.getCounts([...states]);
  const total = counts.reduce((sum, count) => sum + Number(count), 0);
  if (limit === 0 || total === 0) return { ids: [], total };
  // Those that would run first come first. Parked jobs are the last of the delayed ones.
  const ranges = await store.getRanges([...states], 0, limit - 1, true);
  return { ids: (ranges as unknown as string[][]).flat().map(String), total };
}

export async function hideJobs(client: RedisClient, queue: BullQueue, ids: readonly string[]): Promise<void> {
  const { store } = queue;
  const sets = [store.toKey("prioritized"), store.toKey("delayed"), store.toKey("wait"), hiddenKey(queue)];
  const latest = Date.now() + parkedMs / 2;
  await Promise.all(ids.map((id) => client.eval(hide, 5, ...sets, queue.jobKey(id), id, Date.now(), latest)));
}

/** A job that is hidden from workers. */
export interface HiddenJob {
  readonly job: MovedJob;
  /** Of the data from which `job` was made. */
  readonly sha1: string;
}

/** The most bytes of jobs in one call to the database, unless a single job has more. */
const mostBytes = 8_000_000;

/** The first hidden jobs of a queue. */
export async function hiddenJobs(client: RedisClient, queue: BullQueue, limit: number): Promise<HiddenJob[]> {
  const found = await client.zrange(hiddenKey(queue), "0", String(limit - 1), "WITHSCORES");
  const length = await fitting(client, queue, found);
  const jobs = Array.from({ length }, async (_, place) => {
    const id = found[2 * place] ?? "";
    const dueAt = Number(found[2 * place + 1]);
    const [stored, record] = await Promise.all([
      queue.store.getJobData(id),
      client.hget(queue.jobKey(id), recordField),
    ]);
    if (stored === undefined) {
      // Someone has deleted the job by hand.
      await client.zrem(hiddenKey(queue), id);
      return undefined;
    }
    const whole = { ...stored, id };
    const job = fromStored(queue.type, whole, readDocument(whole), readRecord(record), dueAt);
    return { job, sha1: createHash("sha1").update(stored.data).digest("hex") };
  });
  return (await Promise.all(jobs)).filter((job) => job !== undefined);
}

/** How many of the jobs fit into one call. `found` has an id and a time for each. */
async function fitting(client: RedisClient, queue: BullQueue, found: readonly string[]): Promise<number> {
  const ids = found.filter((_, place) => place % 2 === 0);
  const sizes = await Promise.all(ids.map((id) => client.hstrlen(queue.jobKey(id), "data")));
  let bytes = 0;
  const over = sizes.findIndex((size, place) => {
    bytes += size;
    return bytes > mostBytes && place > 0;
  });
  return over < 0 ? ids.length : over;
}

/** Deletes hidden jobs. Resolves to the ids of those that are gone: the others have changed since they were read. */
export async function deleteHidden(
  client: RedisClient,
  queue: BullQueue,
  jobs: readonly HiddenJob[],
): Promise<string[]> {
  const gone = await Promise.all(
    jobs.map(async ({ job: { id, tenant_id, type, idempotency_key: key }, sha1 }) => {
      // A job without a key has no key that leads to it.
      const leading = movedKey(queue, key === undefined ? id : idOfKey(tenant_id, type, key));
      const keys = [hiddenKey(queue), queue.jobKey(id), leading];
      return (await client.eval(remove, 3, ...keys, id, queue.store.toKey("de:"), sha1)) === 1
        ? id
        : undefined;
    }),
  );
  return gone.filter((id) => id !== undefined);
}
