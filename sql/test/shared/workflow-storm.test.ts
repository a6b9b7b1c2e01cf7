/** Random workflow calls from many connections, in open transactions: no deadlock, and every workflow ends. */
import type { TestConnection } from "@jobforge/testing";
import { expect, onTestFailed } from "vitest";
import { test } from "../../../test/database.ts";
import { maintain } from "../support/archive.ts";
import { claim, connections, type KernelError, type Sql, setPolicy, T } from "../support/kernel.ts";
import { type Random, randomFrom, seedOfRun } from "../support/random.ts";
import { randomGraph, stepsOfGraph } from "../support/random-graph.ts";
import { type Report, settle } from "../support/settle.ts";
import { type Step, start, step } from "../support/workflows.ts";

const seconds = Number(process.env["JOBFORGE_PROOF_SECONDS"] ?? 0);

interface Client {
  readonly db: TestConnection;
  readonly name: string;
  readonly random: Random;
  readonly objections: string[];
  held: { id: string; attempts: number; workflow_id: string | null }[];
}

/** Calls that come too late, or that a workflow does not allow in its state. */
const tooLate = ["JF003", "JF005", "JF006", "JF011", "JF012", "JF013", "JF015"];

/** Returns a graph with a signal and a need that waits for repair. */
function graphOf(random: Random): Step[] {
  const steps = stepsOfGraph(randomGraph(random, 2 + random.below(8)));
  const names = steps.map((each) => String(each["name"]));
  return [
    ...steps,
    {
      name: "ok",
      signal: { name: "go", timeout_ms: 1000 + random.below(60_000) },
      needs: random.some(names, 1),
    },
    step("last", ["ok", { step: random.pick(names), policy: "wait" }]),
  ];
}

/** Returns any workflow: mostly one that runs. */
async function anyWorkflow({ db, random }: Client): Promise<string | undefined> {
  const rows = await db.query<{ id: string }>(
    "select id from jobforge_workflows where status = any ($1) order by id desc limit 20",
    [random.chance(0.7) ? ["running"] : ["failed"]],
  );
  return rows.length === 0 ? undefined : random.pick(rows).id;
}

type Call = (client: Client, workflow: string) => Promise<unknown>;

const calls: Record<string, Call> = {
  cancel: async ({ db }, id) => await db.query("select jobforge_cancel_workflow($1, $2)", [id, T]),
  retry: async ({ db, random }, id) =>
    await db.query("select jobforge_retry_workflow($1, $2, null, $3, $4)", [
      id,
      T,
      random.chance(0.3),
      random.chance(0.3),
    ]),
  resolve: async ({ db, random }, id) =>
    await db.query("select jobforge_resolve_step($1, $2, $3, $4)", [
      id,
      T,
      `s${random.below(8)}`,
      random.pick(["succeeded", "skipped"]),
    ]),
  signal: async ({ db }, id) => await db.query("select jobforge_send_signal($1, $2, 'go')", [T, id]),
  update: async ({ db, random }, id) =>
    await db.query("select jobforge_update_workflow($1, $2, $3)", [id, T, { priority: random.below(9) }]),
  add: async ({ db, random }, id) =>
    await db.query("select jobforge_add_steps($1, $2, $3)", [
      id,
      T,
      JSON.stringify([step(`x${random.below(1000)}`, random.chance(0.5) ? ["s0", "last"] : [])]),
    ]),
  "cancel a step": async ({ db, random }, id) =>
    await db.query(
      "select jobforge_cancel_job(s.id, s.tenant_id) from jobforge_steps s where s.workflow_id = $1 and s.path = $2",
      [id, `s${random.below(8)}`],
    ),
  reschedule: async ({ db }, id) =>
    await db.query(
      "select jobforge_reschedule_job(s.job_id, s.tenant_id) from jobforge_steps s where s.workflow_id = $1 and s.status = 'failed' and s.job_id is not null limit 1",
      [id],
    ),
  explain: async ({ db }, id) => await db.query("select jobforge_explain_workflow($1, $2)", [id, T]),
};

/** Calls that lock single jobs and steps. An application makes them after those that lock a workflow. */
const jobCalls = ["signal", "cancel a step", "reschedule"];

/** Makes up to three calls for one workflow in a transaction that stays open for a while. */
async function transact(client: Client): Promise<void> {
  const { db, random } = client;
  const id = await anyWorkflow(client);
  await db.query("begin");
  const chosen = Array.from({ length: 1 + random.below(3) }, () => random.pick(Object.keys(calls)));
  const first = chosen.filter((name) => !jobCalls.includes(name));
  for (const name of [...first, ...chosen.filter((each) => jobCalls.includes(each)).slice(0, 1)]) {
    await db.query("savepoint call");
    try {
      if (id === undefined || random.chance(0.3)) await start(db, graphOf(random));
      else await calls[name]?.(client, id);
    } catch (error) {
      const { code, message } = error as KernelError;
      if (!tooLate.includes(code)) throw new Error(`${name}: ${code} ${message}`);
      await db.query("rollback to savepoint call");
    }
  }
  await db.query("select pg_sleep($1)", [random.below(30) / 1000]);
  await db.query(random.chance(0.8) ? "commit" : "rollback");
}

/** Returns a random end of a run. */
function endOf({ random }: Client, inWorkflow: boolean): Report {
  const how = random.below(12);
  if (how < 2) return { status: "failed", retry: false, error: { message: "boom" } };
  if (how === 2) return { status: "suspended", wait: { name: "w", signals: ["go"], until: new Date() } };
  if (how === 3)
    return { status: "suspended", wait: { name: "c", children: [{ type: "a" }, { type: "a" }] } };
  if (how === 4 && inWorkflow) return { status: "succeeded", steps: [step("more"), step("then", ["more"])] };
  return { status: "succeeded", result: { how } };
}

/** Ends held runs and claims others; sometimes the call is rolled back first. */
async function work(client: Client): Promise<void> {
  const { db, name, random } = client;
  const runs = random.some(client.held, 1 + random.below(8));
  const ends = runs.map(({ id, attempts, workflow_id }) => ({
    id,
    attempt: attempts,
    ...endOf(client, workflow_id !== null),
  }));
  if (random.chance(0.15)) {
    await db.query("begin");
    await settle(db, ends, { worker: name });
    await db.query("select pg_sleep($1)", [random.below(20) / 1000]);
    await db.query("rollback");
  }
  const { jobs, claim_error } = await settle(db, ends, { worker: name, claim: 1 + random.below(6) });
  if (claim_error !== undefined) client.objections.push(`claim: ${claim_error.message}`);
  client.held = [
    ...client.held.filter((run) => !runs.includes(run)),
    ...(jobs as unknown as Client["held"]).map((job) => ({ ...job, workflow_id: job.workflow_id ?? null })),
  ];
}

/** Sends every signal, repairs what failed, and ends all runs as succeeded, as if hours had passed. */
async function calmDown(db: Sql): Promise<void> {
  for (let hours = 1; hours <= 6; hours += 1) {
    await db.travel(`${hours} hours`);
    for (;;) {
      await maintain(db);
      const jobs = await claim(db, "last", { limit: 200 });
      if (jobs.length === 0) break;
      await settle(
        db,
        jobs.map((job) => ({ id: job.id, attempt: job.attempts, status: "succeeded" })),
        { worker: "last" },
      );
    }
    await db.query(
      "select jobforge_cancel_workflow(id, tenant_id) from jobforge_workflows where status = 'running'",
    );
  }
}

test("twelve clients that make random calls of workflows cause no deadlock, and every workflow ends", {
  timeout: seconds * 2000 + 180_000,
}, async ({ db }) => {
  const seed = seedOfRun();
  onTestFailed(() => console.error(`JOBFORGE_PROOF_SEED=${seed} repeats the same choices`));
  const end = Date.now() + seconds * 1000;
  const objections: string[] = [];
  await setPolicy(db, "a", { base_ms: 0 });
  const clients = (await connections(db, 12)).map(
    (connection, n): Client => ({
      db: connection,
      name: `w${n}`,
      random: randomFrom(seed + n),
      objections,
      held: [],
    }),
  );
  await Promise.all(
    clients.map(async (client) => {
      for (let done = 0; seconds > 0 ? Date.now() < end : done < 40; done += 1) {
        const act = client.random.chance(0.35) ? transact : work;
        try {
          await act(client);
        } catch (error) {
          objections.push(`${act.name} of ${client.name}: ${(error as Error).message}`);
          await client.db.query("rollback");
        }
      }
      await client.db.query("select pg_stat_force_next_flush()");
    }),
  );
  expect(objections).toEqual([]);
  await calmDown(db);
  expect(
    await db.value(
      `select jsonb_build_object(
         'live jobs', (select count(*) from jobforge.live_rows),
         'running workflows', (select count(*) from jobforge_workflows where status = 'running'),
         'open steps', (
           select coalesce(jsonb_agg(jsonb_build_object('step', s.path, 'status', v.status, 'decided', s.decided_at,
             'job', j.status, 'ended', j.finished_at, 'first', s.job_id = s.id)), '[]')
           from jobforge.steps s
           join jobforge_steps v on v.id = s.id
           left join jobforge_jobs j on j.id = s.job_id
           where s.status is null),
         'edges', (
           select coalesce(jsonb_agg(jsonb_build_object('need', n.path, 'of', d.path, 'policy', e.policy)), '[]')
           from jobforge.edges e
           left join jobforge.steps n on n.id = e.need_id
           left join jobforge.steps d on d.id = e.dependent_id),
         'ends not recorded', (select count(*) from jobforge.wakeups where what = 'end'),
         'deadlocks', (select deadlocks from pg_stat_database where datname = current_database()))`,
    ),
  ).toEqual({
    "live jobs": 0,
    "running workflows": 0,
    "open steps": [],
    edges: [],
    "ends not recorded": 0,
    deadlocks: 0,
  });
  expect(await db.value("select count(*)::int from jobforge_workflows")).toBeGreaterThan(50);
});
