/** BullMQ's queues: one for each type and tenant group, all on one connection. */
import { createRedisBackend, type JobJson, type RedisQueueBackend } from "bullmq";
import type { Connection, RedisClient } from "./connection.ts";
import { Gathered } from "./gather.ts";
import { groupOf, groupPrefix, type Layout, queueName } from "./layout.ts";
import { type Addition, addAll, type Completion, completeMany, type NextJob } from "./many.ts";

/** A queue of BullMQ, with what JobForge needs to know about it. */
export interface BullQueue {
  readonly type: string;
  readonly group: number;
  readonly store: RedisQueueBackend;
  /** How long a worker that falls silent keeps a job of this queue. */
  readonly leaseMs: number;
  /** The hash of a job. */
  jobKey(id: string): string;
  /** The key whose value is the token of the worker that runs the job. */
  lockKey(id: string): string;
  /** Adds a job. Those that are added in one tick share a call. Resolves to the id. */
  add(job: Addition): Promise<string>;
  /** Ends a run that has succeeded. Those that end in one tick share a call. Resolves to the next job, if asked for. */
  complete(end: Completion): Promise<NextJob | undefined>;
}

/** A job as BullMQ returns it. */
export type StoredJob = JobJson;

export interface LockOptions {
  /** How long a worker that falls silent keeps a job. */
  readonly leaseMs: number;
}

/** BullMQ sorts delayed jobs by their due time and a counter of twelve bits. */
export const ticksPerMs = 0x1000;

/** BullMQ must never end a lost job by itself: the worker that gets it next counts and decides. */
const neverByBullMq = 2_147_483_647;

export class Queues {
  readonly layout: Layout;
  readonly #connection: Connection;
  readonly #leaseMs: number;
  readonly #root: RedisQueueBackend;
  readonly #queues = new Map<string, BullQueue>();

  constructor(connection: Connection, layout: Layout, { leaseMs }: LockOptions) {
    this.layout = layout;
    this.#connection = connection;
    this.#leaseMs = leaseMs;
    const options = {
      connection: connection.client,
      prefix: groupPrefix(layout, 0),
      lockDuration: leaseMs,
      stalledInterval: Math.ceil(leaseMs / 2),
      maxStalledCount: neverByBullMq,
    };
    this.#root = createRedisBackend("jobforge", options);
    this.#root.on("error", () => undefined);
  }

  get client(): RedisClient {
    return this.#connection.client;
  }

  /** The queue of a tenant's jobs of a type. */
  of(type: string, tenantId: string): BullQueue {
    return this.inGroup(type, groupOf(this.layout, tenantId));
  }

  inGroup(type: string, group: number): BullQueue {
    const name = `${group}:${type}`;
    let queue = this.#queues.get(name);
    if (queue === undefined) {
      const { client } = this;
      // A backend of Redis returns another one.
      const store = this.#root.forQueue(
        queueName(type),
        groupPrefix(this.layout, group),
      ) as RedisQueueBackend;
      const additions = new Gathered<Addition, string>((some) => addAll(client, store, some));
      const ends = new Gathered<Completion, NextJob | undefined>((some) => completeMany(client, store, some));
      const add = async (job: Addition): Promise<string> => await additions.add(job);
      const jobKey = (id: string): string => store.toKey(id);
      const lockKey = (id: string): string => `${jobKey(id)}:lock`;
      const complete = async (end: Completion): Promise<NextJob | undefined> => await ends.add(end);
      queue = { type, group, store, leaseMs: this.#leaseMs, jobKey, lockKey, add, complete };
      this.#queues.set(name, queue);
    }
    return queue;
  }

  /** The queues of the types, in all groups. */
  all(types: readonly string[]): BullQueue[] {
    const groups = Array.from({ length: this.layout.groups }, (_, group) => group);
    return types.flatMap((type) => groups.map((group) => this.inGroup(type, group)));
  }
}
