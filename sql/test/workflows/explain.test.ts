/** Explanations name what a step or a workflow waits for, or how it ended. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { cancel, expectError, type Sql, T, U } from "../support/kernel.ts";
import { settle } from "../support/settle.ts";
import {
  claimSteps,
  drain,
  refuse,
  type Started,
  start,
  statusesOf,
  step,
  succeed,
} from "../support/workflows.ts";

interface Reason {
  code: string;
  message: string;
  details: Record<string, unknown>;
}

/** Returns the reasons of a job or step. Times in messages are replaced. */
async function explain(db: Sql, id: string | undefined, tenant = T): Promise<[string, string][]> {
  return shown(await db.value<Reason[] | null>("select jobforge_explain_job($1, $2)", [id, tenant]));
}

async function reasonsOf(db: Sql, id: string): Promise<Reason[]> {
  return await db.value<Reason[]>("select jobforge_explain_workflow($1, $2)", [id, T]);
}

async function explainFlow(db: Sql, flow: Started): Promise<[string, string][]> {
  return shown(await reasonsOf(db, flow.id));
}

function shown(reasons: Reason[] | null): [string, string][] {
  return (reasons ?? []).map(({ code, message }) => [code, message.replaceAll(/\d{4}-\S+Z/g, "TIME")]);
}

test("a blocked step names its needs and their status", async ({ db }) => {
  const flow = await start(db, [step("a"), step("b"), step("c", ["a"]), step("d", ["a", "b", "c"])]);
  await claimSteps(db, "w1", 1);
  expect(await explain(db, flow.steps["d"])).toEqual([
    ["blocked", "Waits for a (running), b (queued), c (blocked)"],
  ]);
  const [reason] = await db.value<Reason[]>("select jobforge_explain_job($1, $2)", [flow.steps["d"], T]);
  expect(reason?.details).toEqual({
    workflow_id: flow.id,
    step: "d",
    count: 3,
    exact: true,
    needs: [
      { step: "a", status: "running", policy: "cancel" },
      { step: "b", status: "queued", policy: "cancel" },
      { step: "c", status: "blocked", policy: "cancel" },
    ],
  });
  expect(await db.value("select jobforge_explain_job($1, $2)", [flow.steps["d"], U])).toBeNull();
  expect(await db.value("select jobforge_explain_workflow($1, $2)", [flow.id, U])).toBeNull();
});

test("of many needs, ten are named and the rest is counted", async ({ db }) => {
  const needs = Array.from({ length: 14 }, (_, n) => `n${n}`);
  const flow = await start(db, [...needs.map((name) => step(name)), step("last", needs)]);
  const [[, message] = ["", ""]] = await explain(db, flow.steps["last"]);
  expect(message).toMatch(/^Waits for n0 \(queued\), .*n9 \(queued\) and 4 more$/);
  expect(await explainFlow(db, flow)).toMatchObject([
    ["queued", "Queued: n0, n1, n2, n3, n4, n5, n6, n7, n8, n9 and 4 more"],
    ["blocked", "Blocked by steps that have not ended: last"],
  ]);
});

test("a step that waits for the repair of a need says so, and so does its workflow", async ({ db }) => {
  const flow = await start(db, [step("a"), step("b", [{ step: "a", policy: "wait" }])]);
  await drain(db, () => refuse);
  expect(await explain(db, flow.steps["b"])).toEqual([
    ["waits_for_repair", "Waits until a (failed) is retried or resolved"],
  ]);
  expect(await explainFlow(db, flow)).toEqual([
    ["waits_for_repair", "Step b waits until a (failed) is retried or resolved"],
    ["blocked", "Blocked by steps that have not ended: b"],
  ]);
  await db.query("select jobforge_resolve_step($1, $2, 'a', 'succeeded')", [flow.id, T]);
  expect((await reasonsOf(db, flow.id)).map(({ code }) => code)).toEqual(["queued"]);
});

test("signals, maps and sub-workflows say what they wait for, with the deadline of the workflow", async ({
  db,
}) => {
  const flow = await start(
    db,
    [
      { name: "approve", signal: { name: "ok", timeout_ms: 60_000 } },
      step("each", [], { map: { over: [1, 2, 3] } }),
      { name: "sub", steps: [step("x"), step("y", ["x"])] },
      step("last", ["approve", "each", "sub"]),
    ],
    { options: { timeout_ms: 3_600_000 } },
  );
  const deadline = ["deadline", "The workflow fails if it has not ended by TIME"];
  expect(await explain(db, flow.steps["approve"])).toEqual([
    ["waits_for_signal", "Step approve waits for the signal ok until TIME"],
    deadline,
  ]);
  expect(await explain(db, flow.steps["each"])).toEqual([
    ["open", "Waits for its items: each[0], each[1], each[2]"],
    deadline,
  ]);
  expect(await explain(db, flow.steps["sub"])).toEqual([["open", "Waits for its steps: sub/y"], deadline]);
  expect(await explain(db, flow.steps["last"])).toEqual([
    ["blocked", "Waits for approve (waiting), each (open), sub (open)"],
    deadline,
  ]);
  const [running] = await claimSteps(db, "w1", 1);
  expect((await explain(db, running?.id)).map(([code]) => code)).toEqual(["running", "deadline"]);
  expect((await explainFlow(db, flow)).map(([code]) => code)).toEqual([
    "waits_for_signal",
    "running",
    "queued",
    "blocked",
    "deadline",
  ]);
});

test("a workflow says why its first queued step does not run", async ({ db }) => {
  const flow = await start(db, [step("a")]);
  await db.query("select jobforge_set_gate('tenant', $1, true, 'night')", [T]);
  const reasons = await reasonsOf(db, flow.id);
  expect(reasons.map(({ code }) => code)).toEqual(["paused", "queued"]);
  expect(reasons[1]?.details).toMatchObject({
    count: 1,
    steps: ["a"],
    first: {
      job_id: flow.steps["a"],
      reasons: [{ code: "paused" }, { code: "no_worker" }, { code: "next" }],
    },
  });
});

test("a suspended step says what its handler waits for", async ({ db }) => {
  const flow = await start(db, [step("a"), step("b", ["a"])]);
  const [job] = await claimSteps(db);
  await settle(db, [
    { id: job?.id, attempt: 1, status: "suspended", wait: { name: "reply", signals: ["yes", "no"] } },
  ]);
  expect(await explain(db, job?.id)).toEqual([["suspended", "Its handler waits for the signal yes or no"]]);
  expect((await explainFlow(db, flow)).map(([code]) => code)).toEqual(["suspended", "blocked"]);
});

test("steps that begin later, and a workflow that is being canceled, say so", async ({ db }) => {
  const at = new Date(Date.now() + 3_600_000).toISOString();
  const flow = await start(db, [{ name: "approve", signal: {} }, step("a")], { options: { run_at: at } });
  expect(await explain(db, flow.steps["approve"])).toEqual([["scheduled", "Scheduled for TIME"]]);
  const other = await start(db, [step("a"), step("b", ["a"])]);
  await claimSteps(db);
  await db.query("select jobforge_cancel_workflow($1, $2, 'no need')", [other.id, T]);
  const canceling = [
    "canceling",
    expect.stringMatching(/^\S+ canceled the workflow at TIME: no need; only cleanup steps start$/),
  ];
  expect(await explain(db, other.steps["b"])).toEqual([canceling, ["blocked", "Waits for a (running)"]]);
  expect((await explain(db, other.steps["a"])).map(([code]) => code)).toEqual([
    "canceling",
    "cancel_requested",
    "running",
  ]);
  expect((await explainFlow(db, other))[0]).toEqual(canceling);
});

test("steps without a job, and workflows, say how they ended", async ({ db }) => {
  const flow = await start(db, [
    step("bad"),
    step("next", ["bad"]),
    step("undo", [{ step: "bad", policy: "compensate" }]),
    step("good"),
    step("spare", [{ step: "good", policy: "compensate" }]),
  ]);
  await drain(db, (job) => (job.path === "bad" ? refuse : succeed(job)));
  expect(await explain(db, flow.steps["next"])).toEqual([
    ["need_failed", "Canceled at TIME, because a step that it needs ended badly: bad (failed)"],
  ]);
  expect(await explain(db, flow.steps["spare"])).toEqual([
    ["skipped", "Skipped at TIME, because of the steps that it needs: good (succeeded)"],
  ]);
  expect(await explainFlow(db, flow)).toEqual([["failed", "Failed at TIME: bad (refused)"]]);
  const good = await start(db, [step("a")]);
  await drain(db);
  expect(await explainFlow(db, good)).toEqual([["succeeded", "Succeeded at TIME"]]);
  const late = await start(db, [step("a")], { options: { timeout_ms: 1000 } });
  await db.travel("1 minute");
  await drain(db);
  expect(await explainFlow(db, late)).toEqual([
    ["deadline", "Failed at TIME: it had not ended by its deadline"],
  ]);
});

test("a blocked step is canceled by its own id when its needs have ended, and shown as a queued job", async ({
  db,
}) => {
  const flow = await start(db, [step("a"), step("b", ["a"], { priority: 3 }), step("c", ["b"])]);
  const b = flow.steps["b"] ?? "";
  const job = async () =>
    await db.query("select status, type, priority, cancel_requested, step_id from jobforge_get_job($1, $2)", [
      b,
      T,
    ]);
  const blocked = { status: "queued", type: "a", priority: 3, step_id: b };
  expect(await job()).toEqual([{ ...blocked, cancel_requested: false }]);
  await expectError(cancel(db, b, U), "JF005");
  expect(await cancel(db, b)).toEqual({ id: b, status: "queued", cancel_requested: true });
  expect(await cancel(db, b)).toEqual({ id: b, status: "queued", cancel_requested: true });
  expect(await job()).toEqual([{ ...blocked, cancel_requested: true }]);
  expect((await explain(db, b)).map(([code]) => code)).toEqual(["cancel_requested", "blocked"]);
  expect(await drain(db)).toEqual(["a"]);
  expect(await statusesOf(db, flow.id)).toEqual({ a: "succeeded", b: "canceled", c: "canceled" });
  expect(await db.value("select reason from jobforge_steps where id = $1", [b])).toBe("canceled");
  await expectError(cancel(db, b), "JF005");
  await db.query("select jobforge_retry_workflow($1, $2)", [flow.id, T]);
  expect(await drain(db)).toEqual(["b", "c"]);
});
