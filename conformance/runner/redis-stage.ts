/** The Redis of a scenario. Its jobs are copied to tables that stand for the views, and steps read them with SQL. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { TestDatabase } from "@jobforge/testing";
import { createRedisBackend } from "bullmq";
import { Cluster, Redis } from "ioredis";
import { type RedisCluster, type RedisServer, startRedis, startRedisCluster } from "../../test/redis.ts";
import { keysOf, queueOf, readRows } from "./redis-rows.ts";
import type { Address, Scene } from "./stage.ts";

/** Small enough for several groups to be in use, and so several masters. */
const groupsOfCluster = 8;
/** BullMQ must not end a lost job by itself: the worker decides. */
const neverByBullMq = 2_147_483_647;

/** The server of a test file: one Redis, or a cluster. It is started by the first scenario. */
export class RedisHouse {
  readonly isCluster: boolean;
  #single: Promise<RedisServer> | undefined;
  #cluster: Promise<RedisCluster> | undefined;

  constructor(isCluster: boolean) {
    this.isCluster = isCluster;
  }

  /** One Redis, which can be killed and started again with its data. */
  single(): Promise<RedisServer> {
    this.#single ??= startRedis({ fsync: "everysec" });
    return this.#single;
  }

  async urls(): Promise<readonly string[]> {
    if (!this.isCluster) return [(await this.single()).url];
    this.#cluster ??= startRedisCluster();
    return (await this.#cluster).urls;
  }

  async stop(): Promise<void> {
    await (await this.#single)?.stop();
    await (await this.#cluster)?.stop();
  }
}

export class RedisStage implements Scene {
  readonly #house: RedisHouse;
  readonly #db: TestDatabase;
  readonly #prefix = `c-${randomBytes(6).toString("hex")}`;
  #opened: Promise<Redis | Cluster> | undefined;
  #offsetSeconds = 0;
  #isDown = false;

  constructor(house: RedisHouse, db: TestDatabase) {
    this.#house = house;
    this.#db = db;
  }

  now(): number {
    return Date.now() + this.#offsetSeconds * 1000;
  }

  /** On Redis, every caller has the same rights. */
  async addressOf(): Promise<Address> {
    const urls = await this.#house.urls();
    return {
      redis: this.#house.isCluster ? urls : (urls[0] ?? ""),
      prefix: this.#prefix,
      ...(this.#house.isCluster ? { groups: groupsOfCluster } : {}),
      clock_offset: this.#offsetSeconds,
    };
  }

  /** Due times follow the clock of clients and workers, so theirs is moved when they connect again. */
  async travel(seconds: number): Promise<void> {
    this.#offsetSeconds += seconds;
  }

  /** All leases run out, and BullMQ takes the jobs back. */
  async maintain(): Promise<void> {
    const client = await this.#client();
    // The first check marks the jobs that have no lock, and the second one takes them back.
    for (let checks = 0; checks < 2; checks += 1) {
      const keys = await keysOf(client, this.#prefix);
      for (const key of keys.filter((each) => /:(?:lock|stalled-check)$/.test(each))) await client.del(key);
      const queues = new Set(keys.filter((key) => key.endsWith(":meta")).map(queueOf));
      for (const queue of queues) await this.#takeBack(client, queue);
    }
  }

  async beginOutage(): Promise<void> {
    this.#isDown = true;
    await (await this.#house.single()).kill();
  }

  async endOutage(): Promise<void> {
    if (!this.#isDown) return;
    this.#isDown = false;
    await (await this.#house.single()).restart();
  }

  async setPolicy(): Promise<void> {
    throw new Error("Redis has no policies");
  }

  async execute(): Promise<void> {
    throw new Error("Redis has no SQL");
  }

  /** Runs the query in a transaction in which temporary tables stand in front of the views. */
  async value(sql: string, values: readonly unknown[]): Promise<unknown> {
    const { jobs, results } = await readRows(await this.#client(), this.#prefix);
    await using connection = await this.#db.connect();
    await connection.query("begin");
    for (const [view, rows] of Object.entries({ jobforge_jobs: jobs, jobforge_job_results: results })) {
      await connection.query(
        `create temporary table ${view} on commit drop as select * from ${view} limit 0`,
      );
      await connection.query(
        `insert into pg_temp.${view} select * from jsonb_populate_recordset(null::pg_temp.${view}, $1)`,
        [JSON.stringify(rows)],
      );
    }
    return await connection.value(sql, [...values]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    (await this.#opened)?.disconnect();
  }

  #client(): Promise<Redis | Cluster> {
    this.#opened ??= this.#house.urls().then(open);
    return this.#opened;
  }

  async #takeBack(client: Redis | Cluster, queue: string): Promise<void> {
    const place = queue.lastIndexOf(":");
    const options = {
      connection: client,
      prefix: queue.slice(0, place),
      lockDuration: 1000,
      stalledInterval: 1,
      maxStalledCount: neverByBullMq,
    };
    await createRedisBackend(queue.slice(place + 1), options).moveStalledJobsToWait();
  }
}

async function open(urls: readonly string[]): Promise<Redis | Cluster> {
  const client = urls.length > 1 ? clusterOf(urls) : new Redis(urls[0] ?? "", { maxRetriesPerRequest: null });
  client.on("error", () => undefined);
  // Before, a cluster does not know its masters.
  if (client instanceof Cluster) await once(client, "ready");
  return client;
}

function clusterOf(urls: readonly string[]): Cluster {
  const nodes = urls.map((url) => ({ host: new URL(url).hostname, port: Number(new URL(url).port) }));
  return new Cluster(nodes, { redisOptions: { maxRetriesPerRequest: null } });
}
