/** A feed reader: each feed is fetched as long as it has a subscriber, and each fetch sets the time of the next one. */
import { defineJob, type JobForge, typed } from "@jobforge/sdk-ts";
import { drain, type TestDatabase } from "@jobforge/testing";
import pg from "pg";
import { expect, onTestFinished } from "vitest";
import { until } from "./support/happening.ts";
import { clientAt, keptLog, startWorker, T, test } from "./support/work.ts";

const fetchFeed = defineJob({ type: "fetch_feed", input: typed<{ feed: string }>() });
const ofT = { tenantId: T };
const quiet = { logger: keptLog().logger };
const hour = 3_600_000;

type Work = (client: pg.ClientBase) => Promise<unknown>;

/** The application: its own table, and one schedule per feed, which is enabled exactly while the feed has a reader. */
class FeedReader {
  readonly #pool: pg.Pool;
  readonly #forge: JobForge;

  constructor(pool: pg.Pool, forge: JobForge) {
    this.#pool = pool;
    this.#forge = forge;
  }

  async subscribe(feed: string, reader: number, meanwhile?: () => Promise<void>): Promise<void> {
    await this.transact(async (client) => {
      await client.query("insert into subscriptions values ($1, $2) on conflict do nothing", [feed, reader]);
      const { schedules } = this.#forge.with(client);
      await schedules.ensure(fetchFeed, feed, { ...ofT, dynamic: true, payload: { feed } });
      await meanwhile?.();
      await this.follow(client, feed);
    });
  }

  async unsubscribe(feed: string, reader: number): Promise<void> {
    await this.transact(async (client) => {
      await client.query("delete from subscriptions where feed = $1 and reader = $2", [feed, reader]);
      await this.follow(client, feed);
    });
  }

  /** Two statements, so that the second one reads after the first one has got the lock. */
  async follow(client: pg.ClientBase, feed: string): Promise<void> {
    const { schedules } = this.#forge.with(client);
    await schedules.lock(fetchFeed, feed, ofT);
    const { rows } = await client.query<{ wanted: boolean }>(
      "select exists (select from subscriptions where feed = $1) as wanted",
      [feed],
    );
    await schedules.setEnabled(fetchFeed, feed, rows[0]?.wanted ?? false, ofT);
  }

  async transact(work: Work): Promise<void> {
    const client = await this.#pool.connect();
    try {
      await client.query("begin");
      await work(client);
      await client.query("commit");
    } catch (error) {
      await client.query("rollback");
      throw error;
    } finally {
      client.release();
    }
  }
}

async function openReader(db: TestDatabase, forge: JobForge): Promise<FeedReader> {
  await db.query(
    "create table if not exists subscriptions (feed text, reader int, primary key (feed, reader))",
  );
  const pool = new pg.Pool({ connectionString: db.url, max: 8 });
  pool.on("error", () => undefined);
  onTestFinished(() => pool.end());
  return new FeedReader(pool, forge);
}

test("a feed is fetched while it has a subscriber, is disabled without one, and then continues where it was", async ({
  db,
  forge,
}) => {
  const reader = await openReader(db, forge);
  const fetched: string[] = [];
  const handler = fetchFeed.handle(({ feed }, job) => {
    fetched.push(feed);
    job.nextRun(hour);
  });
  const state = () => forge.schedules.get(fetchFeed, "f1", ofT);

  await reader.subscribe("f1", 1);
  await drain(forge, [handler], quiet);
  expect(fetched).toEqual(["f1"]);
  const { nextRunAt } = (await state()) ?? {};
  expect(nextRunAt).toBeInstanceOf(Date);

  await reader.subscribe("f1", 2);
  await reader.unsubscribe("f1", 1);
  expect(await state()).toMatchObject({ enabled: true, nextRunAt });
  await reader.unsubscribe("f1", 2);
  expect(await state()).toMatchObject({ enabled: false, nextRunAt });
  await using later = clientAt(db, "2h");
  await drain(later, [handler], quiet);
  expect(fetched, "without a subscriber").toEqual(["f1"]);

  await reader.subscribe("f1", 3);
  expect(await state()).toMatchObject({ enabled: true, nextRunAt });
  await drain(forge, [handler], quiet);
  expect(fetched, "before its time").toEqual(["f1"]);
  await drain(later, [handler], quiet);
  expect(fetched, "at its time").toEqual(["f1", "f1"]);

  await reader.unsubscribe("f1", 3);
  await using muchLater = clientAt(db, "9h");
  const afterwards = await openReader(db, muchLater);
  await afterwards.subscribe("f1", 4);
  await drain(muchLater, [handler], quiet);
  expect(fetched, "at once, because its time has passed").toEqual(["f1", "f1", "f1"]);
  expect(await db.value("select count(*)::int from jobforge.schedules")).toBe(1);
});

test("a reader who subscribes while the last one leaves keeps the feed enabled", async ({ db, forge }) => {
  const reader = await openReader(db, forge);
  await reader.subscribe("f1", 1);
  // The last reader leaves before the new subscription is committed, cannot see it, and disables the feed.
  await reader.subscribe("f1", 2, () => reader.unsubscribe("f1", 1));
  expect(await forge.schedules.get(fetchFeed, "f1", ofT)).toMatchObject({ enabled: true });
});

test("however readers come and go at the same time, a feed is enabled exactly while it has a subscriber", async ({
  db,
  forge,
}) => {
  const reader = await openReader(db, forge);
  const feeds = ["f1", "f2", "f3"];
  const running = new Map<string, number>();
  let overlaps = 0;
  await startWorker(forge, {
    concurrency: 5,
    handlers: [
      fetchFeed.handle(async ({ feed }, job) => {
        running.set(feed, (running.get(feed) ?? 0) + 1);
        if ((running.get(feed) ?? 0) > 1) overlaps += 1;
        await new Promise((resolve) => setImmediate(resolve));
        running.set(feed, (running.get(feed) ?? 0) - 1);
        job.nextRun(1);
      }),
    ],
  });
  for (const feed of feeds) await reader.subscribe(feed, 0);
  for (let round = 0; round < 15; round += 1) {
    await Promise.all(
      feeds.flatMap((feed, index) => [
        reader.unsubscribe(feed, round % 4),
        reader.unsubscribe(feed, (round + 1) % 4),
        (round + index) % 3 === 0 ? reader.subscribe(feed, (round + 2) % 4) : reader.unsubscribe(feed, 0),
      ]),
    );
    const wrong = await db.query(
      `select key from jobforge_schedules s
       where enabled <> exists (select from subscriptions u where u.feed = s.key)`,
    );
    expect(wrong, `round ${round}`).toEqual([]);
  }
  expect(overlaps, "simultaneous runs of a feed").toBe(0);
  for (const feed of feeds) await reader.subscribe(feed, 9);
  const [before] = await db.query<{ at: Date }>("select clock_timestamp() as at");
  await until(
    async () =>
      (await db.value<number>("select count(*)::int from jobforge_schedules where last_run_at > $1", [
        before?.at,
      ])) === feeds.length,
  );
});
