/**
 * Random calls for one workflow after the other, checked step by step against a small reference model. The seeds are
 * fixed; JOBFORGE_MODEL_RUNS plays that many workflows of a new seed.
 */
import type { TestDatabase } from "@jobforge/testing";
import { expect, onTestFailed } from "vitest";
import { test } from "../../../test/database.ts";
import { T } from "../support/kernel.ts";
import { type Random, randomFrom } from "../support/random.ts";
import { settle } from "../support/settle.ts";
import { claimSteps, refuse, type Started, start, statusesOf, workflowOf } from "../support/workflows.ts";
import { type ModelStep, type Policy, WorkflowModel } from "./model/workflow.ts";

const asked = process.env["JOBFORGE_MODEL_RUNS"];
const runs = asked === undefined ? 12 : Number(asked);
const seeds = asked === undefined ? [3, 5] : [Date.now() % 2 ** 31];

const policies: readonly Policy[] = ["cancel", "cancel", "run", "wait", "compensate"];

function drawSteps(random: Random): ModelStep[] {
  return Array.from({ length: 2 + random.below(9) }, (_, n) => {
    const needs = random.some(
      Array.from({ length: n }, (_each, m) => `s${m}`),
      random.below(3),
    );
    return {
      name: `s${n}`,
      kind: random.chance(0.2) ? "signal" : "job",
      needs: needs.map((step) => ({ step, policy: random.pick(policies) })),
      optional: random.chance(0.2),
      cleanup: random.chance(0.15),
    };
  });
}

interface Play {
  readonly db: TestDatabase;
  readonly random: Random;
  readonly flow: Started;
  readonly model: WorkflowModel;
  readonly held: Map<string, { id: string; attempts: number }>;
}

type Move = (play: Play) => Promise<string | undefined>;

const pickFrom = (random: Random, names: readonly string[]): string | undefined =>
  names.length === 0 ? undefined : random.pick(names);

const moves: readonly Move[] = [
  async ({ db, random, model, held }) => {
    const jobs = await claimSteps(db, "w", 1 + random.below(3));
    for (const job of jobs) {
      expect(model.those("queued"), "claimed").toContain(job.path);
      model.start(job.path);
      held.set(job.path, job);
    }
    return `claim ${jobs.map((job) => job.path).join()}`;
  },
  async ({ db, random, model, held }) => {
    const name = pickFrom(random, [...held.keys()]);
    const run = name === undefined ? undefined : held.get(name);
    if (name === undefined || run === undefined) return undefined;
    held.delete(name);
    const how = random.pick(["succeeded", "succeeded", "failed", "suspended"] as const);
    const report = { id: run.id, attempt: run.attempts };
    if (how === "suspended") {
      // The name of each wait is new, because a wait that is over is not waited for again.
      const wait = { name: `w${run.attempts}`, signals: ["on"] };
      await settle(db, [{ ...report, status: "suspended", wait }], { worker: "w" });
      model.suspend(name);
    } else {
      await settle(db, [{ ...report, ...(how === "failed" ? refuse : { status: how }) }], { worker: "w" });
      model.end(name, how);
    }
    return `${name} ${how}`;
  },
  async ({ db, flow, random, model }) => {
    const suspended = model.steps.map(({ name }) => name).filter((name) => model.state(name).suspended);
    const name = pickFrom(
      random,
      suspended.filter((each) => model.state(each).status === "queued"),
    );
    if (name === undefined) return undefined;
    await db.query(
      "select jobforge_send_signal($1, (select job_id from jobforge_steps where workflow_id = $2 and path = $3), 'on')",
      [T, flow.id, name],
    );
    // The wait takes the signal, so that the next one is not over at once.
    await db.query("update jobforge.signals set taken_by = target_id where name = 'on'");
    model.resume(name);
    return `resume ${name}`;
  },
  async ({ db, flow, model }) => {
    if (model.status !== "running") return undefined;
    await db.query("select jobforge_send_signal($1, $2, 'go')", [T, flow.id]);
    model.signal();
    return "signal";
  },
  async ({ db, flow, random, model }) => {
    if (model.status !== "running" || random.chance(0.8)) return undefined;
    await db.query("select jobforge_cancel_workflow($1, $2)", [flow.id, T]);
    model.cancel();
    return "cancel";
  },
  async ({ db, flow, random, model }) => {
    const live = model.steps.filter(
      ({ name, kind }) =>
        ["blocked", "queued", "running"].includes(model.state(name).status) &&
        (kind === "job" || model.state(name).status === "blocked"),
    );
    const name = pickFrom(
      random,
      live.map((each) => each.name),
    );
    if (name === undefined || random.chance(0.6)) return undefined;
    await db.query(
      `select jobforge_cancel_job(case when s.decided_at is null then s.id else s.job_id end, $2)
       from jobforge_steps s where s.workflow_id = $1 and s.path = $3`,
      [flow.id, T, name],
    );
    model.cancelStep(name);
    return `cancel ${name}`;
  },
  async ({ db, flow, random, model }) => {
    if (!model.canBeRetried() || random.chance(0.5)) return undefined;
    await db.query("select jobforge_retry_workflow($1, $2)", [flow.id, T]);
    model.retry();
    return "retry";
  },
  async ({ db, flow, random, model }) => {
    const name = pickFrom(random, model.resolvable());
    if (name === undefined || random.chance(0.5)) return undefined;
    const status = random.pick(["succeeded", "skipped"] as const);
    await db.query("select jobforge_resolve_step($1, $2, $3, $4)", [flow.id, T, name, status]);
    model.resolve(name, status);
    return `resolve ${name} as ${status}`;
  },
];

/** Plays one workflow. `story` gets a line for each call. */
async function play(db: TestDatabase, random: Random, story: string[]): Promise<void> {
  const steps = drawSteps(random);
  story.length = 0;
  story.push(JSON.stringify(steps));
  const flow = await start(
    db,
    steps.map(({ name, kind, needs, optional, cleanup }) => ({
      name,
      needs,
      optional,
      cleanup,
      ...(kind === "job" ? { type: "a" } : { signal: { name: "go" } }),
    })),
  );
  const model = new WorkflowModel(steps);
  const held = new Map<string, { id: string; attempts: number }>();
  for (let n = 0; n < 40; n += 1) {
    const move = random.chance(0.6) ? moves[random.below(2)] : random.pick(moves);
    const told = await move?.({ db, random, flow, model, held });
    if (told === undefined) continue;
    story.push(told);
    expect(await statusesOf(db, flow.id), told).toEqual(model.statuses());
    expect((await workflowOf(db, flow.id)).status, told).toBe(model.status);
  }
  // The next workflow must find no job of this one.
  for (const table of ["queue", "runs", "cancel_requests", "wakeups"])
    await db.query(`delete from jobforge.${table}`);
}

test.for(seeds)("workflows of seed %i move as the model says", { timeout: 600_000 }, async (seed, { db }) => {
  const random = randomFrom(seed);
  const story: string[] = [];
  onTestFailed(() => console.error(story.join("\n")));
  for (let n = 0; n < runs; n += 1) await play(db, random, story);
});
