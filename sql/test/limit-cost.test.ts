/** What limits cost, counted in buffers: nothing where there are none, and little for what they hold back. */
import { cloneDatabase, type TestDatabase } from "@jobforge/testing";
import { beforeAll, describe, expect, inject } from "vitest";
import { test } from "../../test/database.ts";
import { costAndAnswer, load, tenant } from "./support/cost.ts";
import type { Sql } from "./support/kernel.ts";
import { setLimit } from "./support/limits.ts";
import type { ClaimedJob } from "./support/settle.ts";

const WARM = 8;
const RUNS = 8;
const KEYS = 100_000;

/** Puts jobs of ten keys into the queue, of which nothing runs. */
async function loadFree(db: Pick<Sql, "query">, keyed: boolean): Promise<void> {
  await load(db, { count: 800, type: "a", tenants: 4 });
  if (keyed) await db.query("update jobforge.jobs set concurrency_key = 'free ' || seq % 800 where state = 'ready'");
}

/** A run and two parked jobs of each of many keys, as they are after some claims. */
async function loadBlocked(db: TestDatabase): Promise<void> {
  await db.query(
    `insert into jobforge.jobs
       (id, tenant_id, lane, type, state, worker_id, started_at, attempts, max_attempts, budget, run_at, created_at, updated_at,
        payload, concurrency_key, parked_in)
     select jobforge.new_id(), t.id, uuid_hash_extended(t.id, 0), 'a', s.state,
       case s.state when 'running' then 'w' || n % 100 end, case s.state when 'running' then clock_timestamp() end,
       (s.state = 'running')::int, 5, 5, clock_timestamp() - interval '1 hour', clock_timestamp(), clock_timestamp(), '{}',
       'blocked ' || n,
       case s.state when 'parked' then jobforge.bucket_id('key', 'a', t.id, 'blocked ' || n) end
     from generate_series(1, ${KEYS}) n
     cross join lateral (select ('00000000-0000-4000-8000-' || lpad((1 + n % 4)::text, 12, '0'))::uuid as id offset 0) t
     cross join (values ('running'), ('parked'), ('parked')) s(state)`,
  );
  await db.query("vacuum (analyze) jobforge.jobs");
}

/** The least that ending ten runs and claiming the next ten costs, with a hint, as workers do. */
async function costOfSettle(db: Sql): Promise<number> {
  let held: ClaimedJob[] = [];
  let hint: unknown = null;
  const costs: number[] = [];
  for (let n = 0; n < WARM + RUNS; n += 1) {
    const results = held.map(({ id, attempts }) => ({ id, attempt: attempts, status: "succeeded" }));
    const { buffers, answer } = await costAndAnswer<{ jobs: ClaimedJob[]; hint: unknown }>(
      db,
      "jobforge_settle_jobs('w', $1, 10, array['a'], null, $2)",
      [JSON.stringify(results), JSON.stringify(hint)],
    );
    expect(answer.jobs).toHaveLength(10);
    ({ jobs: held, hint } = answer);
    costs.push(buffers);
  }
  return Math.min(...costs.slice(WARM));
}

async function figure(db: TestDatabase, keyed: boolean): Promise<number> {
  await loadFree(db, keyed);
  await db.query("vacuum (analyze) jobforge.jobs");
  return await costOfSettle(await db.connect());
}

describe("with 100,000 keys at their limit and two jobs parked for each", () => {
  let blocked: TestDatabase;
  beforeAll(async () => {
    blocked = await cloneDatabase(inject("server"));
    await setLimit(blocked, "key", "*", { max: 1 });
    await loadBlocked(blocked);
    return () => blocked.drop();
  }, 300_000);

  test("ending ten runs of other keys and claiming the next ten costs less than twice as much", async ({ db }) => {
    await setLimit(db, "key", "*", { max: 1 });
    const free = await figure(db, true);
    const beside = await figure(blocked, true);
    console.info({ free, beside });
    expect(beside).toBeLessThan(2 * free);
  });

  test("a limit on their keys costs ten jobs less than five times a queue without", async ({ db }) => {
    const without = await figure(db, true);
    const beside = await figure(blocked, true);
    console.info({ without, beside });
    expect(beside).toBeLessThan(5 * without);
  });
});

test("a database without limits reads six pages more at most", async ({ db }) => {
  expect(tenant(1)).toBeDefined();
  console.info(await figure(db, false));
});
