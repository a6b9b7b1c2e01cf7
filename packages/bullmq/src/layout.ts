/**
 * Where jobs are in Redis. Each type has one BullMQ queue per tenant group. All keys of a group have the same hash tag,
 * so in a cluster a group is in one slot, and the groups are spread over the masters. Every client and worker of an
 * installation must use the same number of groups, so the number is stored.
 */
import { createHash, randomUUID } from "node:crypto";
import { InvalidArgumentError } from "@jobforge/sdk-ts";
import type { RedisClient } from "./connection.ts";
import type { BullQueue } from "./queues.ts";

export interface Layout {
  /** The beginning of all keys. */
  readonly prefix: string;
  /** The number of tenant groups. */
  readonly groups: number;
}

/** The group of a tenant. */
export function groupOf({ groups }: Layout, tenantId: string): number {
  if (groups === 1) return 0;
  return createHash("sha256").update(tenantId.toLowerCase()).digest().readUInt32BE(0) % groups;
}

/** The prefix of BullMQ's keys for a group. The braces are the hash tag. */
export function groupPrefix({ prefix, groups }: Layout, group: number): string {
  return groups === 1 ? `{${prefix}}` : `{${prefix}:${group}}`;
}

/** The name of a type's queue. BullMQ allows no colon in it. */
export function queueName(type: string): string {
  return type.replaceAll("%", "%25").replaceAll(":", "%3A");
}

let lastMs = 0;
let count = 0;

/**
 * A new id: a UUID of version 7, which begins with the time, as the ids of Postgres do. Those of one process ascend,
 * also within a millisecond.
 */
export function newId(): string {
  const now = Date.now();
  if (now > lastMs) [lastMs, count] = [now, 0];
  else if (count < 0xfff) count += 1;
  else [lastMs, count] = [lastMs + 1, 0];
  const time = lastMs.toString(16).padStart(12, "0");
  const place = count.toString(16).padStart(3, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${place}-${randomUUID().slice(19)}`;
}

/**
 * The id of the job that has this idempotency key: always the same one, so that Redis itself refuses a second job. It
 * is a UUID of version 8, the one for values of one's own.
 */
export function idOfKey(tenantId: string, type: string, key: string): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([tenantId.toLowerCase(), type, key]))
    .digest();
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x80;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  const hex = hash.toString("hex", 0, 16);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/**
 * The key under which Redis finds a job that has an idempotency key and was moved here: its id does not follow from its
 * key.
 */
export function movedKey({ store }: BullQueue, idOfItsKey: string): string {
  return store.toKey(`jf:key:${idOfItsKey}`);
}

/** A single URL of a cluster reaches the jobs of one node only. */
function refuseNode(error: Error): never {
  if (!/^(?:MOVED|ASK) /.test(error.message)) throw error;
  throw new InvalidArgumentError("Invalid argument: redis is a node of a Redis Cluster", {
    field: "redis",
    hint: "Pass the URLs of several nodes, or a list with one URL.",
  });
}

/** Stores the number of groups, or compares it with the stored one. */
export async function requireLayout(client: RedisClient, { prefix, groups }: Layout): Promise<void> {
  const key = `{${prefix}}:jobforge:groups`;
  await client.set(key, groups, "NX").catch(refuseNode);
  const stored = Number(await client.get(key));
  if (stored === groups) return;
  throw new InvalidArgumentError(
    `Invalid argument: groups is ${groups}, but this Redis holds jobs in ${stored} groups`,
    {
      field: "groups",
      hint: `Pass groups: ${stored}, or another prefix. To change the number, move the jobs away and back.`,
    },
  );
}
