/**
 * A feed reader. Each feed has one schedule, whose runs fetch the feed and set the time of the next fetch. The schedule
 * is enabled as long as the feed has a subscriber. One more schedule renews the subscriptions of WebSub each day.
 */
import { defineJob, globalTenant, JobForge, typed } from "jobforge";
import { drain } from "jobforge/testing";
import pg from "pg";

const pool = new pg.Pool({ connectionString: process.env["DATABASE_URL"] });
const forge = new JobForge({ database: pool });
const tenantId = globalTenant;
await pool.query(
  "create table if not exists subscriptions (feed text, reader text, primary key (feed, reader))",
);

const fetchFeed = defineJob({ type: "fetch_feed", input: typed<{ feedId: string }>() });
const renewWebsub = defineJob({ type: "renew_websub" });
const hour = 3_600_000;

/** Enables the feed's schedule if the feed has a subscriber, and else disables it. */
async function follow(client: pg.ClientBase, feedId: string): Promise<boolean> {
  const { schedules } = forge.with(client);
  // The lock comes first, so that two readers who leave at the same time do not both see the other one.
  await schedules.lock(fetchFeed, feedId, { tenantId });
  const { rows } = await client.query<{ wanted: boolean }>(
    "select exists (select from subscriptions where feed = $1) as wanted",
    [feedId],
  );
  const { enabled } = await schedules.setEnabled(fetchFeed, feedId, rows[0]?.wanted ?? false, { tenantId });
  return enabled;
}

async function inTransaction<Result>(work: (client: pg.ClientBase) => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    const result = await work(client);
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
}

const subscribe = (feedId: string, reader: string): Promise<boolean> =>
  inTransaction(async (client) => {
    await client.query("insert into subscriptions values ($1, $2) on conflict do nothing", [feedId, reader]);
    await forge
      .with(client)
      .schedules.ensure(fetchFeed, feedId, { tenantId, dynamic: true, payload: { feedId } });
    return await follow(client, feedId);
  });

const unsubscribe = (feedId: string, reader: string): Promise<boolean> =>
  inTransaction(async (client) => {
    await client.query("delete from subscriptions where feed = $1 and reader = $2", [feedId, reader]);
    return await follow(client, feedId);
  });

/** The server of the broken feed responds with an error; the next try waits longer after each failure. */
const handlers = [
  fetchFeed.handle(({ feedId }, job) => {
    const failures = job.schedule?.previousRun?.consecutiveFailures ?? 0;
    job.nextRun(feedId === "broken" ? hour * 2 ** failures : hour);
    if (feedId === "broken") throw new Error("503 Service Unavailable");
    console.log("fetched", feedId);
  }),
  renewWebsub.handle(() => undefined),
];

// Every process does this at its start. There is one schedule, however many processes start at once.
await Promise.all(
  [1, 2, 3].map(() => forge.schedules.ensure(renewWebsub, "renew_websub", { tenantId, cron: "0 4 * * *" })),
);
console.log((await forge.schedules.count({ tenantId })).map(({ type, schedules }) => `${type} ${schedules}`));
// → [ 'renew_websub 1' ]

console.log(await subscribe("news", "ada"), await subscribe("news", "bob")); // → true true
await subscribe("broken", "ada");
await drain(forge, handlers); // → fetched news
const news = await forge.schedules.get(fetchFeed, "news", { tenantId });
console.log(news?.lastStatus, news?.consecutiveFailures, Number(news?.nextRunAt) > Date.now()); // → succeeded 0 true
const broken = await forge.schedules.get(fetchFeed, "broken", { tenantId });
console.log(broken?.enabled, broken?.consecutiveFailures, broken?.lastError); // → true 1 503 Service Unavailable

// The last reader leaves. The time of the next fetch stays, and counts again for the next reader.
console.log(await unsubscribe("news", "ada"), await unsubscribe("news", "bob")); // → true false
await subscribe("news", "eve");
const later = await forge.schedules.get(fetchFeed, "news", { tenantId });
console.log(Number(later?.nextRunAt) === Number(news?.nextRunAt)); // → true

await forge.close();
await pool.end();
