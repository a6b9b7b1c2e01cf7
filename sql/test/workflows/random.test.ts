/** Random graphs, settled by several workers at once, some of whose transactions roll back, end as a model says. */
import type { TestConnection } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { connections } from "../support/kernel.ts";
import { type Random, randomFrom } from "../support/random.ts";
import { endsOf, failures, hasFailed, randomGraph, stepsOfGraph } from "../support/random-graph.ts";
import { settle } from "../support/settle.ts";
import { claimSteps, expectNoErrors, refuse, start, statusesOf, workflowOf } from "../support/workflows.ts";

interface Worker {
  readonly db: TestConnection;
  readonly name: string;
  readonly random: Random;
}

/** Steps of claimed jobs that wait for something that has not ended. */
const early = `
  select s.path
  from jobforge.steps s
  join jobforge.edges e on e.dependent_id = s.id
  where s.job_id = any ($1)`;

/**
 * Claims and settles until the workflow has ended. A third of the settles is in a transaction that stays open for a
 * while; half of these are rolled back first. Returns the steps that it ran.
 */
async function work({ db, name, random }: Worker, id: string, bad: ReadonlySet<string>): Promise<string[]> {
  const ran: string[] = [];
  for (;;) {
    const jobs = await claimSteps(db, name, 1 + random.below(4));
    if (jobs.length === 0) {
      if ((await workflowOf(db, id)).status !== "running") return ran;
      await db.query("select pg_sleep(0.005)");
      continue;
    }
    expect(await db.query(early, [jobs.map((job) => job.id)])).toEqual([]);
    ran.push(...jobs.map((job) => job.path));
    const ends = jobs.map(({ id: job, attempts, path }) => ({
      id: job,
      attempt: attempts,
      ...(bad.has(path) ? refuse : { status: "succeeded" }),
    }));
    for (const how of random.pick([["rollback", "commit"], ["commit"], [], [], [], []])) {
      await db.query("begin");
      await settle(db, ends, { worker: name });
      await db.query("select pg_sleep($1)", [random.below(10) / 1000]);
      await db.query(how);
    }
    await settle(db, ends, { worker: name });
  }
}

test.for([1, 2, 3, 4, 5, 6])(
  "four workers run each step of random graph %i once, after its needs, and all ends are those of the model",
  { timeout: 60_000 },
  async (seed, { db }) => {
    const graph = randomGraph(randomFrom(seed), 60);
    const flow = await start(db, stepsOfGraph(graph));
    const bad = new Set(failures(graph));
    const workers = (await connections(db, 4)).map(
      (connection, n): Worker => ({ db: connection, name: `w${n}`, random: randomFrom(seed * 31 + n) }),
    );
    const ran = (await Promise.all(workers.map(async (worker) => await work(worker, flow.id, bad)))).flat();
    const expected = endsOf(graph);
    expect(await statusesOf(db, flow.id)).toEqual(expected);
    expect(new Set(ran).size).toBe(ran.length);
    expect((await workflowOf(db, flow.id)).status).toBe(hasFailed(graph, expected) ? "failed" : "succeeded");
    await expectNoErrors(db);
    expect(await db.value("select count(*)::int from jobforge.edges")).toBe(0);
    expect(await db.value("select count(*)::int from jobforge.dooms")).toBe(0);
  },
);
