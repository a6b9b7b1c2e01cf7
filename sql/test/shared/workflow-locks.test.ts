/** The lock rule for workflows: no settle, claim or heartbeat waits for an open transaction that changes a graph. */
import { cloneDatabase, type TestConnection, type TestDatabase } from "@jobforge/testing";
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from "vitest";
import { maintain } from "../support/archive.ts";
import { claim, codeOf, enqueue, type Sql, T, workerHeartbeat } from "../support/kernel.ts";
import { settle } from "../support/settle.ts";
import { refuse, start, step } from "../support/workflows.ts";

/** Jobs and workflows of one tenant in every situation. The runs are of worker w1; `elsewhere` is of w9. */
interface Scene {
  /** A workflow a, elsewhere → join → last, with a and elsewhere running. */
  readonly flow: string;
  readonly running: string;
  readonly elsewhere: string;
  readonly join: string;
  /** A workflow with a failed step, a step that waits for its repair, and one that runs. */
  readonly broken: string;
  readonly beside: string;
  /** A workflow that waits for the signal go. */
  readonly signal: string;
  /** A job that waits for the signal go, and a job with two children, one of which runs. */
  readonly sleeper: string;
  readonly parent: string;
  readonly child: string;
}

const tables = [
  "workflows",
  "steps",
  "edges",
  "dooms",
  "wakeups",
  "signals",
  "checkpoints",
  "queue",
  "runs",
  "archive",
];

async function prepare(db: Sql): Promise<Scene> {
  for (const table of [...tables, "cancel_requests", "attempts", "workers"])
    await db.query(`delete from jobforge.${table}`);
  await db.query("update jobforge.maintenance set ran_at = '-infinity'");
  const take = async (type: string, worker = "w1"): Promise<string> =>
    (await claim(db, worker, { limit: 1, types: [type] }))[0]?.id ?? expect.fail(`no job of type ${type}`);
  const typed = (name: string, needs: unknown[] = []) => step(name, needs, { type: name });
  const { id: flow, steps } = await start(db, [
    typed("a"),
    typed("elsewhere"),
    typed("join", ["a", "elsewhere"]),
    typed("last", ["join"]),
  ]);
  const [running, elsewhere] = [await take("a"), await take("elsewhere", "w9")];
  const { id: broken } = await start(db, [
    typed("bad"),
    typed("beside"),
    typed("next", ["bad"]),
    typed("repair", [{ step: "bad", policy: "wait" }, "beside"]),
  ]);
  await settle(db, [{ id: await take("bad"), attempt: 1, ...refuse }]);
  const beside = await take("beside");
  const { id: signal } = await start(db, [
    { name: "approve", signal: { name: "go" } },
    typed("publish", ["approve"]),
  ]);
  const { id: sleeper } = await enqueue(db, { type: "sleeper" });
  await take("sleeper");
  const { id: parent } = await enqueue(db, { type: "parent" });
  await take("parent");
  const children = [{ type: "child" }, { type: "child" }];
  await settle(db, [
    { id: sleeper, attempt: 1, status: "suspended", wait: { name: "wait", signals: ["go"] } },
    { id: parent, attempt: 1, status: "suspended", wait: { name: "all", children } },
  ]);
  const child = await take("child");
  const join = steps["join"] ?? "";
  return { flow, running, elsewhere, join, broken, beside, signal, sleeper, parent, child };
}

type Hold = (open: TestConnection, scene: Scene) => Promise<unknown>;

const call = async (open: Sql, name: string, ...values: unknown[]): Promise<unknown> =>
  await open.value(
    `select jobforge_${name}(${values.map((_, n) => `$${n + 1}`).join(", ")})`,
    values.map((value) => (typeof value === "object" && value !== null ? JSON.stringify(value) : value)),
  );

const applications: Record<string, Hold> = {
  "a start with keys": (open) =>
    start(open, [step("a")], { options: { idempotency_key: "k", dedupe_key: "k" } }),
  "steps that are added": (open, { flow }) => call(open, "add_steps", flow, T, [step("more", ["a", "join"])]),
  "a cancel": (open, { flow }) => call(open, "cancel_workflow", flow, T),
  "a cancel of a workflow with a failed step": (open, { broken }) => call(open, "cancel_workflow", broken, T),
  "a cancel of many": (open) => call(open, "cancel_workflows", T, { name: "flow" }),
  "a retry": (open, { broken }) => call(open, "retry_workflow", broken, T),
  "a reschedule of a failed step": (open, { broken }) =>
    open.query(
      "select jobforge_reschedule_job(s.job_id, s.tenant_id) from jobforge_steps s where workflow_id = $1 and name = 'bad'",
      [broken],
    ),
  "a step that is resolved": (open, { broken }) => call(open, "resolve_step", broken, T, "bad", "succeeded"),
  "an update": (open, { flow }) => call(open, "update_workflow", flow, T, { priority: 5, deadline: null }),
  "a signal for a workflow": (open, { signal }) => call(open, "send_signal", T, signal, "go"),
  "a signal for a job": (open, { sleeper }) => call(open, "send_signal", T, sleeper, "go"),
  "a signal with a key": (open, { signal }) => call(open, "send_signal", T, signal, "other", 1, "k"),
  "a cancel of a blocked step": (open, { join }) => call(open, "cancel_job", join, T),
  "a cancel of a suspended parent": (open, { parent }) => call(open, "cancel_job", parent, T),
  "explanations and lists": async (open, { flow, join }) => {
    await call(open, "explain_workflow", flow, T);
    await call(open, "explain_job", join, T);
    await open.query("select * from jobforge_list_steps($1, $2), jobforge_list_workflows($2)", [flow, T]);
  },
};

const workers: Record<string, Hold> = {
  "an end of another need": (open, { elsewhere }) =>
    settle(open, [{ id: elsewhere, attempt: 1, status: "succeeded" }], { worker: "w9" }),
  "a bad end of another need": (open, { elsewhere }) =>
    settle(open, [{ id: elsewhere, attempt: 1, ...refuse }], { worker: "w9" }),
  "an end that adds steps": (open, { elsewhere }) =>
    settle(open, [{ id: elsewhere, attempt: 1, status: "succeeded", steps: [step("more")] }], {
      worker: "w9",
    }),
  "steps that a run adds": (open, { flow, elsewhere }) =>
    call(open, "add_steps", flow, T, [step("more")], elsewhere, "w9"),
  "a checkpoint": (open, { elsewhere }) =>
    call(open, "save_steps", elsewhere, "w9", [{ name: "x", value: 1 }]),
  "a suspension": (open, { elsewhere }) =>
    settle(
      open,
      [
        {
          id: elsewhere,
          attempt: 1,
          status: "suspended",
          wait: { name: "w", children: [{ type: "child" }] },
        },
      ],
      { worker: "w9" },
    ),
  "a claim": (open) => claim(open, "w8", { limit: 10 }),
  maintenance: (open) => maintain(open),
};

/** Makes the calls of a worker for the scene. Returns those that failed, or whose run was not ended. */
async function workAsUsual(worker: Sql, scene: Scene): Promise<string[]> {
  const held = [scene.running, scene.beside, scene.child];
  const runs = held.map((id) => ({ id, attempt: 1 }));
  const calls: Record<string, Promise<string>> = {};
  const add = async (name: string, made: Promise<unknown>): Promise<void> => {
    calls[name] = codeOf(made);
    await calls[name];
  };
  await add("heartbeat", workerHeartbeat(worker, "w1", { instance: "1", held: runs }));
  await add("claim", claim(worker, "w2", { limit: 1 }));
  const { settled, claim_error } = await settle(
    worker,
    runs.map((run) => ({ ...run, status: "succeeded" })),
    { claim: 10 },
  );
  await add("maintenance", maintain(worker));
  const failed = await Promise.all(
    Object.entries(calls).map(async ([name, code]) => `${name} ${await code}`),
  );
  return [
    ...failed.filter((line) => !line.endsWith(" ok")),
    ...settled.filter(({ outcome }) => outcome !== "ok").map(({ id }) => `settle of ${String(id)}`),
    ...(claim_error === undefined ? [] : [claim_error.message]),
  ];
}

/** Repairs and signals what waits, and runs everything to its end. Returns what is left. */
async function endAll(db: Sql): Promise<Record<string, number>> {
  const waiting = await db.query<{ id: string }>(
    "select id from jobforge_workflows where status = 'running' union all select id from jobforge_jobs where type = 'sleeper'",
  );
  for (const { id } of waiting) await codeOf(call(db, "send_signal", T, id, "go"));
  for (let hours = 1; hours < 5; hours += 1) {
    await db.travel(`${hours} hours`);
    for (;;) {
      await maintain(db);
      const jobs = await claim(db, "last", { limit: 100 });
      if (jobs.length === 0) break;
      await settle(
        db,
        jobs.map((job) => ({ id: job.id, attempt: job.attempts, status: "succeeded" })),
        { worker: "last" },
      );
    }
    await db.query(
      `select jobforge_resolve_step(s.workflow_id, s.tenant_id, s.path, 'succeeded')
       from jobforge_steps s join jobforge_workflows w on w.id = s.workflow_id
       where w.status = 'running' and s.status = 'failed' and s.name = 'bad'`,
    );
  }
  return await db.value(
    `select jsonb_build_object(
       'jobs', (select count(*) from jobforge.live_rows),
       'workflows', (select count(*) from jobforge_workflows where status = 'running'),
       'edges', (select count(*) from jobforge.edges),
       'dooms', (select count(*) from jobforge.dooms),
       'ends', (select count(*) from jobforge.wakeups where what = 'end'))`,
  );
}

let db: TestDatabase;
let open: TestConnection;
let worker: TestConnection;

beforeAll(async () => {
  db = await cloneDatabase(inject("server"));
  open = await db.connect();
  worker = await db.connect();
  await worker.query("set lock_timeout = '400ms'");
});

afterAll(() => db.drop());

afterEach(async () => {
  await open.query("rollback");
});

describe.for(Object.entries({ "an application": applications, "another worker": workers }))(
  "no worker waits for an open transaction of %s, and all workflows end:",
  ([, holds]) => {
    test.for(Object.keys(holds).flatMap((name) => [`${name}, committed`, `${name}, rolled back`]))(
      "%s",
      async (title) => {
        const [name = "", how] = title.split(/, (?=committed|rolled back)/);
        await db.travel("0");
        const scene = await prepare(db);
        await open.query("begin");
        await holds[name]?.(open, scene);
        expect(await workAsUsual(worker, scene)).toEqual([]);
        await open.query(how === "committed" ? "commit" : "rollback");
        expect(await endAll(db)).toEqual({ jobs: 0, workflows: 0, edges: 0, dooms: 0, ends: 0 });
      },
    );
  },
);
