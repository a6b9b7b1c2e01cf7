/** The plain tables with which the kernel is compared do the same work: every job once, in turns, with its history. */
import pg from "pg";
import { expect } from "vitest";
import { test } from "../../test/database.ts";
import { baseline } from "../src/kernel/baseline.ts";

const tenants = [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}`);

test("plain tables start and finish every job once", async ({ db }) => {
  const clients = [1, 2].map(() => new pg.Client({ connectionString: db.url }));
  for (const client of clients) await client.connect();
  try {
    const [first] = clients;
    if (first === undefined) throw new Error("no connection");
    await baseline.setUp(first);
    for (const batch of [1, 7, 100]) {
      const work = { tenants, batch, history: true };
      await baseline.enqueueBulk(first, 150, work);
      await baseline.enqueueOne(first, tenants[0] ?? "");
      const done = await Promise.all(clients.map((client) => baseline.drain(client, work)));
      expect(done.reduce((sum, jobs) => sum + jobs, 0)).toBe(151);
    }
    const found = await db.query(
      `select count(*)::int as finished, count(distinct id)::int as jobs, max(attempts)::int as attempts,
         (select count(*)::int from plain.queue) + (select count(*)::int from plain.runs) as left
       from plain.finished`,
    );
    expect(found).toEqual([{ finished: 453, jobs: 453, attempts: 1, left: 0 }]);
    await baseline.enqueueBulk(first, 150, { tenants, batch: 50, history: false });
    expect(await baseline.drain(first, { tenants, batch: 50, history: false })).toBe(150);
    expect(await db.value("select count(*)::int from plain.finished")).toBe(453);
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
});
