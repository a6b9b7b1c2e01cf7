/**
 * The few changes that BullMQ has no call for. Each is one script, so it is atomic, and its keys have one hash tag.
 */
import type { RedisClient } from "./connection.ts";
import type { BullQueue } from "./queues.ts";

/** The field of a job's hash with JobForge's facts about its runs, as JSON. */
export const recordField = "jf";
/** The field of a job's hash that asks a running job to stop. */
export const cancelField = "jf:cancel";

/** Sets a field while the token holds the job. Returns whether a cancel was requested, or -1. */
const writeHeld = `
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return -1 end
redis.call("HSET", KEYS[2], ARGV[2], ARGV[3])
return redis.call("HEXISTS", KEYS[2], ARGV[4])`;

/** Replaces the data of a job that waits, if it is still what the caller has read. */
const changeWaiting = `
if redis.call("HGET", KEYS[1], "data") ~= ARGV[1] then return -1 end
if redis.call("HEXISTS", KEYS[1], "finishedOn") == 1 then return 0 end
if redis.call("EXISTS", KEYS[2]) == 1 or redis.call("LPOS", KEYS[3], ARGV[3]) then return 0 end
redis.call("HSET", KEYS[1], "data", ARGV[2])
return 1`;

/** Asks a running job to stop. Returns whether it runs. */
const requestCancel = `
if redis.call("EXISTS", KEYS[1]) == 0 or redis.call("HEXISTS", KEYS[1], "finishedOn") == 1 then return 0 end
redis.call("HSET", KEYS[1], ARGV[1], 1)
return 1`;

/** Writes a field of a job that the token holds. */
export async function writeField(
  client: RedisClient,
  queue: BullQueue,
  run: { readonly id: string; readonly token: string },
  field: string,
  value: string,
): Promise<"held" | "canceled" | "lost"> {
  const { id, token } = run;
  const keys = [queue.lockKey(id), queue.jobKey(id)];
  const reply = await client.eval(writeHeld, 2, ...keys, token, field, value, cancelField);
  return reply === -1 ? "lost" : reply === 1 ? "canceled" : "held";
}

/** Replaces the data of a waiting job. */
export async function changeData(
  client: RedisClient,
  queue: BullQueue,
  id: string,
  change: { readonly from: string; readonly to: string },
): Promise<"changed" | "not waiting" | "conflict"> {
  const keys = [queue.jobKey(id), queue.lockKey(id), queue.store.toKey("active")];
  const reply = await client.eval(changeWaiting, 3, ...keys, change.from, change.to, id);
  return reply === 1 ? "changed" : reply === 0 ? "not waiting" : "conflict";
}

/** Asks a running job to stop. Resolves to false if the job has finished. */
export async function askToCancel(client: RedisClient, queue: BullQueue, id: string): Promise<boolean> {
  return (await client.eval(requestCancel, 1, queue.jobKey(id), cancelField)) === 1;
}
