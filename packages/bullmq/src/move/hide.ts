/** Hides jobs of BullMQ's queues from workers, and deletes them when Postgres has them. Each is one script. */
import type { RedisClient } from "../connection.ts";
import { readDocument } from "../document.ts";
import type { BullQueue } from "../queues.ts";
import { readRecord } from "../record.ts";
import { recordField } from "../scripts.ts";
import { fromStored, type MovedJob, parkedMs } from "./document.ts";

/** The sorted set of hidden jobs, by the time when they are due. */
function hiddenKey({ store }: BullQueue): string {
  return store.toKey("jf:moving");
}

const ticksPerMs = 0x1000;

/** Takes a job out of the set or list in which it waits. A job that is parked for another move is left. */
const hide = `
local due = ARGV[2]
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

/** Deletes a hidden job with its dedupe key, which may have gone to another job. */
const remove = `
local dedupe = redis.call("HGET", KEYS[2], "deid")
if dedupe and redis.call("GET", ARGV[2] .. dedupe) == ARGV[1] then redis.call("DEL", ARGV[2] .. dedupe) end
redis.call("DEL", KEYS[2])
return redis.call("ZREM", KEYS[1], ARGV[1])`;

const states = ["wait", "prioritized", "delayed"] as const;

/** The ids of up to `limit` jobs that wait in a queue, and how many wait in all. */
export async function waitingJobs(
  { store }: BullQueue,
  limit: number,
): Promise<{ readonly ids: readonly string[]; readonly total: number }> {
  const counts = await store.getCounts([...states]);
  const total = counts.reduce((sum, count) => sum + Number(count), 0);
  if (limit === 0 || total === 0) return { ids: [], total };
  const ranges = await store.getRanges([...states], 0, limit - 1);
  return { ids: (ranges as unknown as string[][]).flat().map(String), total };
}

export async function hideJobs(client: RedisClient, queue: BullQueue, ids: readonly string[]): Promise<void> {
  const { store } = queue;
  const keys = [store.toKey("prioritized"), store.toKey("delayed"), store.toKey("wait"), hiddenKey(queue)];
  const latest = Date.now() + parkedMs / 2;
  await Promise.all(ids.map((id) => client.eval(hide, 4, ...keys, id, Date.now(), latest)));
}

/** The hidden jobs of a queue. */
export async function hiddenJobs(client: RedisClient, queue: BullQueue, limit: number): Promise<MovedJob[]> {
  const found = await client.zrange(hiddenKey(queue), "0", String(limit - 1), "WITHSCORES");
  const jobs = Array.from({ length: found.length / 2 }, async (_, place) => {
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
    return fromStored(queue.type, whole, readDocument(whole), readRecord(record), dueAt);
  });
  return (await Promise.all(jobs)).filter((job) => job !== undefined);
}

export async function deleteHidden(
  client: RedisClient,
  queue: BullQueue,
  ids: readonly string[],
): Promise<void> {
  const keys = (id: string): string[] => [hiddenKey(queue), queue.jobKey(id)];
  await Promise.all(ids.map((id) => client.eval(remove, 2, ...keys(id), id, queue.store.toKey("de:"))));
}
