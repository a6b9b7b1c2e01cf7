/** The options of a `BullForge`, and the checks of their values. */
import { InvalidArgumentError, suggest } from "@jobforge/sdk-ts";
import { isCluster, type RedisTarget } from "./connection.ts";
import type { Layout } from "./layout.ts";

export interface BullForgeOptions {
  /** The URL of a Redis, the URLs of some nodes of a Redis Cluster, or a client of ioredis. */
  readonly redis: RedisTarget | undefined;
  /** The beginning of all keys. Default `jobforge`. */
  readonly prefix?: string | undefined;
  /**
   * The number of tenant groups: 1 to 1024. A group is in one slot of a cluster, so a cluster needs at least as many
   * groups as masters. Every client and worker must use the same number. Default 1, and 16 for a cluster.
   */
  readonly groups?: number | undefined;
  /**
   * How long a worker that falls silent keeps its jobs, in milliseconds: 1000 to 3600000. Default 30000. All workers
   * must use the same value.
   */
  readonly leaseMs?: number | undefined;
}

export interface ForgeSettings {
  readonly redis: RedisTarget;
  readonly layout: Layout;
  readonly leaseMs: number;
}

const names = ["redis", "prefix", "groups", "leaseMs"];
const aliases = { url: "redis", connection: "redis", database: "redis", lockduration: "leaseMs" };
const clusterGroups = 16;

export function forgeSettings(options: BullForgeOptions): ForgeSettings {
  if (typeof options !== "object" || options === null)
    refuse("options", "must be an object", "Pass { redis: process.env.REDIS_URL }.");
  for (const name of Object.keys(options))
    if (!names.includes(name)) refuse(name, "is not a known option", suggest(name, names, aliases));
  const { redis, prefix = "jobforge", leaseMs = 30_000 } = options;
  if (redis === undefined)
    refuse("redis", "is undefined", "Set the environment variable it comes from, such as REDIS_URL.");
  if (typeof prefix !== "string" || !/^[\w.-]{1,100}$/.test(prefix))
    refuse("prefix", "must have 1 to 100 letters, digits, dots, hyphens or underscores");
  const { groups = isCluster(redis) ? clusterGroups : 1 } = options;
  requireWhole("groups", groups, 1, 1024);
  requireWhole("leaseMs", leaseMs, 1000, 3_600_000);
  return { redis, layout: { prefix, groups }, leaseMs };
}

function requireWhole(field: string, value: number, least: number, most: number): void {
  if (!Number.isInteger(value) || value < least || value > most)
    refuse(field, `must be a whole number from ${least} to ${most}`);
}

function refuse(field: string, message: string, hint?: string): never {
  throw new InvalidArgumentError(`Invalid argument: ${field} ${message}`, { field, hint });
}
