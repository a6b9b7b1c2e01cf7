/** A caller that names another tenant's job neither waits for that tenant's locks nor locks a row of it. */
import type { TestConnection, TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, codeOf, fail } from "../support/kernel.ts";
import { boundLogin, populate, T, U } from "../support/tenants.ts";

/** Values for the required parameters of functions that take the id of a row. `$id` is the other tenant's. */
const values: Readonly<Record<string, string>> = {
  p_job_id: "$id",
  p_token_id: "$id",
  p_workflow_id: "$id",
  p_target_id: "$id",
  p_name: "'go'",
  p_step: "'a'",
  p_types: "'{a}'",
  p_steps: "'[]'",
  p_wait: "'{}'",
  p_endpoint_id: "$id",
  p_endpoint: "'{}'",
  p_until: "now()",
  p_tenant_id: `'${T}'`,
  p_area: "'reports'",
  p_worker_id: "'w1'",
  p_status: "'succeeded'",
  p_changes: "'{}'",
  p_filters: "jsonb_build_object('ids', jsonb_build_array($id))",
  p_progress: "'1'",
  p_run_at: "now()",
};

/** Returns a call of every function that takes the id of a row, from the catalog, and of those that take several. */
async function callsWithAnId(db: TestDatabase): Promise<string[]> {
  const functions = await db.query<{ name: string; required: string[] }>(
    `select p.proname as name, p.proargnames[:p.pronargs - p.pronargdefaults] as required
     from pg_proc p
     where p.pronamespace = 'public'::regnamespace and p.proname like 'jobforge\\_%'
       and p.proargnames[:p.pronargs] && array(
         select a.name from unnest(p.proargnames, p.proargtypes::oid[]) a(name, type)
         where a.type = 'uuid'::regtype and a.name <> 'p_tenant_id')
     order by 1`,
  );
  const argument = (name: string): string =>
    values[name] ?? expect.fail(`add a value for ${name}, or change this test`);
  return [
    ...functions.map(
      ({ name, required }) =>
        `select ${name}(${required.map((parameter) => `${parameter} => ${argument(parameter)}`).join(", ")})`,
    ),
    `select jobforge_note_artifact('${T}', 'reports', $id)`,
    "select jobforge_forget_artifacts(jsonb_build_array(jsonb_build_object('area', 'reports', 'id', $id)))",
    "select jobforge_receive_jobs('w1', array[$id::text])",
    "select jobforge_settle_jobs('w1', jsonb_build_array(jsonb_build_object('id', $id, 'attempt', 1, 'status', 'succeeded')))",
    "select jobforge_settle_jobs_text('w1', jsonb_build_array(jsonb_build_object('id', $id, 'attempt', 1, 'status', 'failed'))::text)",
  ];
}

/** Locks every row of U in every table that has a tenant, and fails with 55P03 if another session holds one. */
async function lockAll(db: TestDatabase, connection: TestConnection): Promise<void> {
  const tables = await db.query<{ name: string }>(
    `select c.oid::regclass::text as name
     from pg_class c
     join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
     where c.relnamespace = 'jobforge'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`,
  );
  for (const { name } of tables)
    await connection.query(`select from ${name} where tenant_id = $1 for update nowait`, [U]);
}

test("no call with another tenant's id waits for its locks or takes one", async ({ db }) => {
  const { u } = await populate(db);
  await db.query(`select jobforge_ensure_schedule($1, 'task', 'k', '{"every": "1 hour"}')`, [U]);
  await db.query("select jobforge_run_schedule($1, 'task', 'k')", [U]);
  const [run] = await claim(db, "w1", { types: ["task"] });
  await fail(db, run?.id ?? "");
  const steps = [
    { name: "a", type: "step", max_attempts: 1 },
    { name: "b", type: "step", needs: ["a"] },
  ];
  const workflow = await db.value<{ id: string; steps: { b: string } }>(
    "select jobforge_start_workflow($1, 'graph', $2)",
    [U, JSON.stringify(steps)],
  );
  const [step] = await claim(db, "w1", { types: ["step"] });
  await fail(db, step?.id ?? "");
  const caller = await boundLogin(db, T, "jobforge_tenant", "jobforge_app", "jobforge_worker");
  const rival = await db.connect();
  await caller.query("set lock_timeout = '1s'");
  const calls = await callsWithAnId(db);
  expect(calls.length).toBeGreaterThan(12);
  const reach = async (call: string, id: string): Promise<string> =>
    await codeOf(caller.query(call.replaceAll("$id", `'${id}'::uuid`)));

  const ofJobs = [u.queued, u.running, u.dead, run?.id ?? "", step?.id ?? ""];
  for (const id of [...ofJobs, workflow.id, workflow.steps.b]) {
    for (const call of calls) {
      await rival.query("begin");
      await lockAll(db, rival);
      expect(await reach(call, id), `${call} waits`).not.toBe("55P03");
      await rival.query("rollback");

      await caller.query("begin");
      await reach(call, id);
      await rival.query("begin");
      expect(await codeOf(lockAll(db, rival)), `${call} locks`).toBe("ok");
      await rival.query("rollback");
      await caller.query("rollback");
    }
  }
}, 180_000);
