/**
 * Tests that every check can fail: it must find nothing in a correct history, and something in every history that was
 * tampered with in a way that the check is made for.
 */
import { describe, expect } from "vitest";
import { test as base } from "../../test/database.ts";
import type { Readable } from "../src/checks/check.ts";
import { type Check, checks, findViolations, limitsNow, roomsNow } from "../src/checks/index.ts";
import { makeHistory } from "./support/history.ts";

const aSuccess = "(select id from jobforge.archive where status = 'succeeded' and payload ? 'order' limit 1)";

/** Statements that tamper with the history, and the check that must find it. */
const tamperings: readonly (readonly [check: string, what: string, statement: string])[] = [
  [
    "finishes once",
    "a job that never finished",
    "select jobforge_enqueue_job('00000001-0000-4000-8000-000000000000', 'chaos.plain')",
  ],
  [
    "finishes once",
    "a job that finished twice",
    "insert into jobforge.archive select a.* from jobforge.archive a limit 1",
  ],
  ["nothing lost", "a job that is missing", `delete from jobforge.archive where id = ${aSuccess}`],
  [
    "nothing lost",
    "an order that was never committed",
    "delete from chaos.orders where type = 'chaos.effect'",
  ],
  [
    "nothing lost",
    "an order with two jobs",
    "update jobforge.archive set payload = (select payload from jobforge.archive where payload ? 'order' limit 1) where payload ? 'order'",
  ],
  [
    "nothing lost",
    "a job of another tenant",
    `update jobforge.archive set tenant_id = '00000001-0000-4000-8000-000000000000' where id = ${aSuccess}`,
  ],
  ["keys once", "a key whose job is missing", "delete from jobforge.archive where type = 'chaos.keyed'"],
  [
    "keys once",
    "a key with a job other than the acknowledged one",
    "update chaos.keys set acknowledged = gen_random_uuid() where key = 'key 1'",
  ],
  [
    "children",
    "a child that is missing",
    "delete from jobforge.archive where type = 'chaos.child' and payload ->> 'n' = '0'",
  ],
  [
    "children",
    "a child that exists twice",
    "update jobforge.archive set payload = payload || '{\"n\": 0}' where type = 'chaos.child'",
  ],
  [
    "children",
    "children of a parent that failed",
    "update jobforge.archive set status = 'failed' where type = 'chaos.parent'",
  ],
  [
    "cancels hold",
    "a cancel that had no effect",
    "update jobforge.archive set status = 'succeeded' where id = (select job_id from chaos.cancels)",
  ],
  ["attempts", "an attempt that is not recorded", "delete from jobforge.attempts"],
  [
    "attempts",
    "a claim that is not recorded",
    `insert into chaos.transitions (job_id, attempt, type, tenant_id, worker_id, event)
    select job_id, 9, type, tenant_id, worker_id, 'start' from chaos.transitions limit 1`,
  ],
  [
    "attempts",
    "an end that was written twice",
    `insert into chaos.transitions (job_id, attempt, type, tenant_id, worker_id, event)
    select job_id, attempt, type, tenant_id, worker_id, event from chaos.transitions where event = 'end' limit 1`,
  ],
  [
    "executions",
    "an execution that is not recorded",
    "insert into chaos.executions select job_id, 9, worker_id, 1, now() from chaos.executions limit 1",
  ],
  [
    "executions",
    "an execution by another worker",
    "update chaos.executions set worker_id = 'w9' where outcome = 'threw'",
  ],
  [
    "executions",
    "an attempt that was executed twice",
    "insert into chaos.executions select * from chaos.executions limit 1",
  ],
  ["executions", "a success without an execution", "delete from chaos.executions where outcome = 'returned'"],
  ["executions", "a success of a handler that threw", "update chaos.executions set outcome = 'threw'"],
  [
    "fences",
    "an end that was accepted from a worker that had lost the job",
    "update chaos.replies set reply = 'succeeded' where reply = 'stale'",
  ],
  [
    "fences",
    "an end that was accepted but is not recorded",
    "update jobforge.archive set last_run = 'lost' where status = 'dead'",
  ],
  [
    "fences",
    "an end that was accepted twice",
    "insert into chaos.replies select * from chaos.replies where reply = 'succeeded' limit 1",
  ],
  [
    "fences",
    "an end after the next attempt had begun",
    "update chaos.transitions set at = at + interval '1 hour' where event = 'end' and worker_id = 'w2'",
  ],
  [
    "workflows",
    "a workflow that never ended",
    "update jobforge.workflows set status = 'running', finished_at = null",
  ],
  [
    "workflows",
    "a workflow that failed without a failed step",
    "update jobforge.workflows set status = 'failed'",
  ],
  ["workflows", "a step that never ended", "update jobforge.steps set status = null where name = 'last'"],
  ["workflows", "a workflow that was never committed", "delete from chaos.flows"],
  [
    "workflows",
    "a step that began too early",
    "update jobforge.steps set decided_at = decided_at - interval '1 day' where name = 'last'",
  ],
  [
    "joins",
    "an item that was not counted",
    "update jobforge.steps set status = 'failed' where path = 'items[0]'",
  ],
  [
    "joins",
    "a child that ran twice",
    "update jobforge.steps set group_id = (select id from jobforge.steps where name = 'saga') where path = 'items[0]'",
  ],
  [
    "leftovers",
    "a need that was not dropped",
    "insert into jobforge.edges values (gen_random_uuid(), gen_random_uuid(), 'c')",
  ],
  ["effects once", "an effect that is missing", "delete from chaos.effects"],
  ["effects once", "an effect that exists twice", "insert into chaos.effects select * from chaos.effects"],
  ["effects once", "an effect of another attempt", "update chaos.effects set attempt = attempt + 1"],
  [
    "effects once",
    "an effect of a job that failed",
    "update jobforge.archive set status = 'failed', last_run = 'failed' where type = 'chaos.effect'",
  ],
  [
    "serial keys",
    "two jobs of a key at once",
    `update chaos.transitions t set at = t.at + interval '1 hour'
    where t.event = 'end' and t.job_id = (select s.job_id from chaos.transitions s where s.concurrency_key = 'k' order by s.at limit 1)`,
  ],
  [
    "serial keys",
    "a job that began before the previous one finished",
    `update jobforge.archive set finished_at = finished_at + interval '1 hour'
    where id = (select s.job_id from chaos.transitions s where s.concurrency_key = 'k' order by s.at limit 1)`,
  ],
  [
    "limit of a type",
    "four running jobs of a type with a limit of three",
    `insert into chaos.transitions (job_id, attempt, type, tenant_id, worker_id, event)
    select gen_random_uuid(), 1, 'chaos.limited', gen_random_uuid(), 'w1', 'start' from generate_series(1, 4)`,
  ],
  [
    "limit of a tenant",
    "seven running jobs of a tenant with a limit of six",
    `insert into chaos.transitions (job_id, attempt, type, tenant_id, worker_id, event)
    select gen_random_uuid(), 1, 'x', '00000001-0000-4000-8000-000000000000', 'w1', 'start' from generate_series(1, 7)`,
  ],
  [
    "schedules",
    "a due time that fired twice",
    `update jobforge.archive set scheduled_for = (select max(scheduled_for) from jobforge.archive)
    where schedule_id = (select id from jobforge.schedules where key = 'all')`,
  ],
  [
    "schedules",
    "a due time that was skipped",
    `update jobforge.archive set scheduled_for = scheduled_for + interval '1 hour'
    where id = (select a.id from jobforge.archive a join jobforge.schedules s on s.id = a.schedule_id where s.key = 'all' order by a.scheduled_for limit 1)`,
  ],
  [
    "audit",
    "a dead job that is not in the log",
    "delete from jobforge.audit_log where action = 'JOB_EXHAUSTED_RETRIES'",
  ],
  [
    "audit",
    "a failure that is in the log twice",
    "insert into jobforge.audit_log (at, tenant_id, actor, action, entity_type, entity_id) select at, tenant_id, actor, action, entity_type, entity_id from jobforge.audit_log where action = 'JOB_FAILED'",
  ],
  [
    "audit",
    "an entry for a job that did not fail",
    "update jobforge.archive set status = 'succeeded', type = 'x' where status = 'failed' and schedule_id is null",
  ],
  [
    "usage",
    "a run that was metered twice",
    "update jobforge.usage_deltas set runs = runs + 1 where id = (select min(id) from jobforge.usage_deltas)",
  ],
  [
    "usage",
    "a run that was not metered",
    "delete from jobforge.usage_deltas where id = (select min(id) from jobforge.usage_deltas)",
  ],
  [
    "usage",
    "a cost that differs from the cost of the jobs",
    "update jobforge.archive set cost_cents = 1 where cost_cents = 2",
  ],
  [
    "leftovers",
    "a cancel request that was not handled",
    `insert into jobforge.cancel_requests (job_id, tenant_id, worker_id, requested_at, requested_by) values (${aSuccess}, gen_random_uuid(), 'w1', now(), 'x')`,
  ],
];

const test = base.extend<{ history: Readable & { tamper(statement: string): Promise<void> } }>({
  history: async ({ db }, use) => {
    await makeHistory(db);
    await use({
      rows: (sql, values) => db.query(sql, values),
      tamper: async (statement) => {
        // Bypasses the kernel's own constraints and the trigger that records starts and ends.
        await db.query("set session_replication_role = replica");
        await db.query(statement);
      },
    });
  },
});

const named = (name: string): Check => {
  const check = checks.find((each) => each.name === name);
  if (check === undefined) throw new Error(`unknown check: ${name}`);
  return check;
};

test("no check finds anything in a correct history", async ({ history }) => {
  for (const check of [...checks, limitsNow, roomsNow])
    expect(await findViolations(history, check)).toEqual([]);
});

describe("a check finds", () => {
  test("every violation that it is made for", async ({ db, history }) => {
    const unseen: string[] = [];
    for (const [check, what, statement] of tamperings) {
      await db.query("begin");
      await history.tamper(statement);
      const found = await findViolations(history, named(check));
      if (found.length === 0) unseen.push(`${check}: ${what}`);
      await db.query("rollback");
    }
    expect(unseen).toEqual([]);
  });

  test("limits that are exceeded at this moment", async ({ db, history }) => {
    await db.query("select jobforge_remove_limit(scope, key) from jobforge.limits");
    await db.query(
      `select jobforge_enqueue_job('00000001-0000-4000-8000-000000000000', 'chaos.limited', p_concurrency_key => 'k')
       from generate_series(1, 7)`,
    );
    await db.query("select jobforge_claim_jobs('w1', 100)");
    expect((await findViolations(history, limitsNow)).map(({ what }) => what)).toEqual([
      "7 jobs of type chaos.limited are running",
      "7 jobs of tenant 00000001-0000-4000-8000-000000000000 are running",
      "7 jobs of key k are running",
    ]);
  });

  test("a job that is in two rooms at this moment", async ({ db, history }) => {
    const enqueue =
      "select jobforge_enqueue_job('00000001-0000-4000-8000-000000000000', 'chaos.plain') ->> 'id'";
    const live = await db.value<string>(enqueue);
    await db.query("create table public.copy as select * from jobforge.queue");
    await db.query("select jobforge_claim_jobs('w1', 100)");
    await history.tamper("insert into jobforge.queue overriding system value select * from public.copy");
    const found = async (): Promise<string[]> =>
      (await findViolations(history, roomsNow)).map(({ job, what }) => `${job} ${what}`);
    expect(await found()).toEqual([`${live} is in the queue and in the runs`]);
    await history.tamper("delete from jobforge.runs");
    await history.tamper(`update jobforge.archive set id = '${live}' where id = ${aSuccess}`);
    expect(await found()).toEqual([`${live} is ready and has finished`]);
  });
});

test("every check is tested with a history that it must find something in", () => {
  const covered = new Set(tamperings.map(([check]) => check));
  expect(checks.map(({ name }) => name).filter((name) => !covered.has(name))).toEqual([]);
});
