/**
 * Functions that several calls share keep good plans, whichever call made them. A session plans them on empty tables.
 * Then the tables fill up without being analyzed, and no call may read them as a whole.
 */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { cost, load } from "../support/cost.ts";
import { prepareTables } from "../support/full-tables.ts";
import { type Job, type Sql, T } from "../support/kernel.ts";

/** A scan of one of the tables, or of one of its indexes, takes over 2,000 buffers. */
const rowCount = 100_000;
/** The calls take up to some 300. On a busy server, reading the catalog again may add some hundreds. */
const bound = 1500;
const roundsOnEmpty = 8;
const roundsAfter = 4;

type Costs = Map<string, number>;

/** Makes the calls, and notes the lowest cost of each. */
async function callAll(db: Sql, costs: Costs): Promise<void> {
  const call = async (name: string, sql: string, ...values: unknown[]): Promise<void> => {
    const { buffers } = await cost(db, `select ${sql}`, values);
    costs.set(name, Math.min(costs.get(name) ?? Number.POSITIVE_INFINITY, buffers));
  };
  const running = async (): Promise<string> => {
    await db.query("select jobforge_enqueue_job($1, 'd')", [T]);
    const [job] = await db.query<Job>("select id from jobforge_claim_jobs('w', 1, '{d}')");
    return job?.id ?? expect.fail("no job is due");
  };
  const steps = [
    { name: "a", type: "wa" },
    { name: "b", type: "wb", needs: ["a"] },
  ];
  const workflow = await db.value<string>("select jobforge_start_workflow($1, 'wf', $2) ->> 'id'", [
    T,
    JSON.stringify(steps),
  ]);
  await call("add steps", `jobforge_add_steps($1, $2, '[{"name": "x", "type": "wx"}]')`, workflow, T);
  await call("cancel a workflow", "jobforge_cancel_workflow($1, $2)", workflow, T);
  const queued = await db.value<string>("select jobforge_enqueue_job($1, 'q') ->> 'id'", [T]);
  await call("cancel a job", "jobforge_cancel_job($1, $2)", queued, T);
  const notice = '{"url": "https://example.com"}';
  await call("enqueue with a notice", "jobforge_enqueue_job($1, 'n', p_notify_to => $2)", T, notice);
  const suspended = await running();
  const wait = '{"name": "s", "signals": ["go"]}';
  await call("suspend", "jobforge_suspend_job($1, 'w', $2)", suspended, wait);
  await call("cancel a suspended job", "jobforge_cancel_job($1, $2)", suspended, T);
  const last = await running();
  await call("load steps", "jobforge_load_steps($1, 'w')", last);
  await call("complete", "jobforge_complete_job($1, 'w', 'succeeded')", last);
}

test("no call reads a whole table because another one planned what they share", {
  timeout: 120_000,
}, async ({ db }) => {
  await prepareTables(db);
  for (let round = 0; round < roundsOnEmpty; round += 1) await callAll(db, new Map());
  await load(db, { count: rowCount, type: "other", due: "-1 day" });
  await db.query(
    `insert into jobforge.steps (
       id, workflow_id, group_id, tenant_id, kind, name, path, ord, type, status, ended_at, decided_at)
     select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), $1, 'job', 's', 's', 1, 'x', 'succeeded', now(),
       now()
     from generate_series(1, $2::int)`,
    [T, rowCount],
  );
  const costs: Costs = new Map();
  for (let round = 0; round < roundsAfter; round += 1) await callAll(db, costs);
  expect(costs.size).toBeGreaterThan(6);
  expect([...costs].filter(([, buffers]) => buffers >= bound)).toEqual([]);
});

test("every call that writes has the settings without which plans age", async ({ db }) => {
  expect(
    await db.query(
      `select p.proname from pg_proc p
       where p.pronamespace = 'public'::regnamespace and p.proname like 'jobforge\\_%' and p.provolatile = 'v'
         and not coalesce(p.proconfig, '{}') @> '{jit=off,enable_seqscan=off,enable_bitmapscan=off}'`,
    ),
  ).toEqual([]);
});
