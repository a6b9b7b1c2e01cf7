/** The Redis of a benchmark. It syncs its log to disk once a second, as BullMQ's production guide advises. */
import { type RedisServer, startRedis as start } from "../../../test/redis.ts";

export type { RedisServer };

/** Starts Redis. Rejects with the reason if redis-server is not installed and cannot be downloaded. */
export async function startRedis(): Promise<RedisServer> {
  return await start({ fsync: "everysec" });
}
