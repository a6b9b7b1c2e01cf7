/** The lock rule: no claim or settle waits for an open transaction of an application, an operator or another worker. */
import { cloneDatabase, type TestConnection, type TestDatabase } from "@jobforge/testing";
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from "vitest";
import { maintain } from "../support/archive.ts";
import { enqueueJobs } from "../support/bulk.ts";
import {
  cancel,
  claim,
  complete,
  enqueue,
  fail,
  heartbeat,
  reschedule,
  setPolicy,
  T,
} from "../support/kernel.ts";
import { startCall } from "../support/pending-call.ts";
import { settle } from "../support/settle.ts";
import { endAll, prepareStage, type Stage, undelayed, workAsUsual } from "../support/stage.ts";

type Hold = (open: TestConnection, stage: Stage) => Promise<unknown>;

const later = new Date(Date.now() + 3 * 3_600_000).toISOString();

/** Makes a call that is refused, and rolls back to a savepoint as an application does. */
async function refused(open: TestConnection, call: Promise<unknown>): Promise<void> {
  await expect(call).rejects.toMatchObject({ code: expect.stringMatching(/^JF/) });
  await open.query("rollback to savepoint before");
}

const update = (open: TestConnection, id: string, changes: unknown): Promise<unknown> =>
  open.query("select jobforge_update_job($1, $2, $3)", [id, T, changes]);
const byFilter = (open: TestConnection, verb: "cancel" | "reschedule", filter: unknown): Promise<unknown> =>
  open.query(`select jobforge_${verb}_jobs($1, $2)`, [T, filter]);
const replace = { dedupe_mode: "replace", payload: { new: true } };

const applications: Record<string, Hold> = {
  "a cancel of a queued job": (open, { queued }) => cancel(open, queued),
  "a cancel of a waiting job": (open, { waiting }) => cancel(open, waiting),
  "a cancel of a running job": (open, { running }) => cancel(open, running),
  "a cancel by filter": (open) => byFilter(open, "cancel", { subject: "s" }),
  "a cancel by type of everything": (open) => byFilter(open, "cancel", { type: "a" }),
  "a reschedule of a queued job to later": (open, { queued }) => reschedule(open, queued, { run_at: later }),
  "a reschedule of a waiting job to now": (open, { waiting }) => reschedule(open, waiting),
  "a reschedule of a dead job": (open, { dead }) => reschedule(open, dead),
  "a reschedule of a running job, which is refused": (open, { running }) =>
    refused(open, reschedule(open, running)),
  "a reschedule by filter": (open) => byFilter(open, "reschedule", { subject: "s" }),
  "a reschedule of all dead jobs": (open) => byFilter(open, "reschedule", { status: "dead" }),
  "an update of a queued job": (open, { queued }) => update(open, queued, { priority: 9, payload: { n: 1 } }),
  "an update of a waiting job to now": (open, { waiting }) => update(open, waiting, { run_at: null }),
  "an update of a running job, which is refused": (open, { running }) =>
    refused(open, update(open, running, { priority: 9 })),
  "an enqueue with an idempotency key": (open) => enqueue(open, { idempotency_key: "new" }),
  "an enqueue with a dedupe key": (open) => enqueue(open, { dedupe_key: "new" }),
  "an enqueue with the key of a queued job": (open) => enqueue(open, { dedupe_key: "queued" }),
  "an enqueue that replaces a queued job": (open) => enqueue(open, { dedupe_key: "queued", ...replace }),
  "an enqueue that debounces a queued job": (open) =>
    enqueue(open, { dedupe_key: "queued", dedupe_mode: "debounce", run_at: later }),
  "an enqueue that would replace a running job": (open) =>
    enqueue(open, { dedupe_key: "running", ...replace }),
  "an enqueue with the key of a dead job": (open) => enqueue(open, { dedupe_key: "dead" }),
  "a bulk enqueue with all of these keys": (open) =>
    enqueueJobs(
      open,
      ["dead", "new", "queued", "running"].map((key) => ({
        type: "a",
        idempotency_key: key,
        dedupe_key: key,
        ...replace,
      })),
    ),
  "a watch of a running and of a queued job": (open, { running, queued }) =>
    open.query("select jobforge_watch_job($1, $3), jobforge_watch_job($2, $3)", [running, queued, T]),
  "a long read": (open) => open.query("select * from jobforge_list_jobs($1), jobforge_job_attempts", [T]),
};

const operators: Record<string, Hold> = {
  "a gate for everything": (open) => open.query("select jobforge_set_gate('all', null, true)"),
  "a gate for the type": (open) => open.query("select jobforge_set_gate('type', 'a', true)"),
  "a gate for the tenant": (open) => open.query("select jobforge_set_gate('tenant', $1, true)", [T]),
  "a gate that resumes": (open) => open.query("select jobforge_set_gate('type', 'other', false)"),
  "a policy of the type": (open) => setPolicy(open, "a", { base_ms: 5, max_priority: 3, max_attempts: 9 }),
  "the default policy": (open) => setPolicy(open, "*", { preset: "atlas" }),
  "a policy with a new retention": (open) => setPolicy(open, "another", { retention_days: 1 }),
  "a connector's configuration": (open) =>
    open.query("select jobforge_set_connector_config($1, 'http', '{}')", [T]),
};

const otherWorkers: Record<string, Hold> = {
  "a claim": (open) => claim(open, "w9", { limit: 2, types: ["a"] }),
  "a claim with a hint": (open) => settle(open, [], { worker: "w9", claim: 2, types: ["a"], hint: {} }),
  "a completion": (open, { elsewhere }) => complete(open, elsewhere, { worker: "w9" }),
  "a failure": (open, { elsewhere }) => fail(open, elsewhere, { worker: "w9" }),
  "a settle with children": (open, { elsewhere }) =>
    settle(open, [
      {
        id: elsewhere,
        attempt: 1,
        status: "succeeded",
        children: [
          { type: "a", idempotency_key: "new", dedupe_key: "new" },
          { type: "a", dedupe_key: "queued", ...replace },
        ],
      },
    ]),
  "a heartbeat of its job": (open, { elsewhere }) => heartbeat(open, elsewhere, "w9"),
  "a job's progress": (open, { elsewhere }) =>
    open.query("select jobforge_progress_job($1, 'w9', '{\"done\": 1}')", [elsewhere]),
  "a deferral": (open, { elsewhere }) =>
    open.query("select jobforge_defer_job($1, 'w9', $2)", [elsewhere, later]),
  maintenance: (open) => maintain(open),
};

/** All tests share one database and its connections with cached plans: there are many holds, and each call is small. */
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

describe.for(
  Object.entries({
    "an application": applications,
    "an operator": operators,
    "another worker": otherWorkers,
  }),
)("no worker waits for an open transaction of %s, and all jobs finish:", ([, holds]) => {
  test.for(Object.keys(holds))("%s", async (name) => {
    const stage = await prepareStage(db);
    await open.query("begin");
    await open.query("savepoint before");
    await holds[name]?.(open, stage);
    expect(await workAsUsual(worker, stage)).toEqual(undelayed);
    await open.query("commit");
    await db.query("select jobforge_set_gate(scope, key, false) from jobforge.gates");
    expect(await endAll(worker)).toEqual({ live: 0, children: 1, "of the new key": 1 });
  });
});

test("two operators that set the same new retention at the same time both succeed", async () => {
  await open.query("begin");
  await setPolicy(open, "one", { retention_days: 3 });
  const second = await startCall(db, (caller) => setPolicy(caller, "other", { retention_days: 3 }));
  await open.query("commit");
  expect(await second.code).toBe("ok");
});
