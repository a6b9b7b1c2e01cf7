/** Tenants take turns and priorities are strict, with a million jobs, two thousand tenants or twenty workers. */
import type { TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { enqueueJobs } from "../support/bulk.ts";
import { costAndResult, load, tenant } from "../support/cost.ts";
import { proofJobs } from "../support/flow.ts";
import { claim, connections, enqueue, type Sql, setPolicy, T, U, unknownId } from "../support/kernel.ts";
import { randomFrom } from "../support/random.ts";
import { hintedWorker, idsOf, type Settlement, settle, success } from "../support/settle.ts";

const tenantCount = 2000;
const laneCount = 64;
/** The number of claims of 64 jobs after which every tenant has had its turn. */
const turnsPerCycle = Math.ceil(tenantCount / laneCount);

test("a new tenant's job is in the next claim and costs few buffers, however many jobs another tenant has", {
  timeout: 120_000,
}, async ({ db }) => {
  await load(db, { count: proofJobs(100_000) });
  await db.query("analyze jobforge.queue");
  const hinted = hintedWorker(db, "w1", { types: ["a"] });
  for (let n = 2; n < 10; n += 1) {
    await hinted.call(10);
    const { id } = await enqueue(db, { tenant_id: tenant(n) });
    if (n < 5) {
      expect(
        (await claim(db, "w2", { limit: 10 })).map((job) => job.id),
        "a plain claim",
      ).toContain(id);
    } else if (n < 8) {
      const { result, buffers } = await costAndResult<Settlement>(db, "jobforge_settle_jobs('w3', null, 10)");
      expect(idsOf(result), "a settle without a hint").toContain(id);
      if (n > 5) expect(buffers).toBeLessThan(1000);
    } else {
      // A hint may hide a new tenant for as long as it is valid.
      await db.travel(`${n * 1100} milliseconds`);
      expect(idsOf(await hinted.call(10)), "a hinted claim, a second later").toContain(id);
    }
  }
});

test.for([1, 3])(
  "with %i types, any 32 consecutive claims of 64 jobs serve each of two thousand tenants",
  async (count, { db }) => {
    await load(db, { count: 3 * tenantCount * count, tenants: tenantCount, types: count });
    // Some tenants have far more and older jobs than the others.
    await load(db, { count: 5000, tenants: 5, types: count, due: "-2 hours" });
    await db.query("analyze jobforge.queue");
    const worker = hintedWorker(db, "w1");
    const claims: string[][] = [];
    for (let n = 0; n < 2 * turnsPerCycle; n += 1) {
      const { jobs } = await worker.call(laneCount);
      expect(jobs).toHaveLength(laneCount);
      claims.push(jobs.map((job) => job.tenant_id));
    }
    for (let start = 0; start + turnsPerCycle <= claims.length; start += 1) {
      const served = new Set(claims.slice(start, start + turnsPerCycle).flat());
      expect(served.size, `tenants served by the 32 claims from claim ${start} on`).toBe(tenantCount);
    }
  },
);

interface Claim {
  readonly worker: number;
  readonly begun: number;
  readonly ended: number;
  readonly jobs: Settlement["jobs"];
}

/**
 * Lets workers with hints claim concurrently. Each continues while `going` returns true for the number of its claims
 * and the size of the last one. `begun` and `ended` count the events of all workers.
 */
async function claimTogether(
  db: TestDatabase,
  workers: number,
  limit: number,
  going: (claims: number, last: number) => boolean,
): Promise<Claim[]> {
  let event = 0;
  const claims: Claim[] = [];
  const crew = await connections(db, workers);
  await Promise.all(
    crew.map(async (connection, worker) => {
      const hinted = hintedWorker(connection, `w${worker}`);
      for (let n = 0, last = limit; going(n, last); n += 1) {
        event += 1;
        const begun = event;
        const { jobs } = await hinted.call(limit);
        event += 1;
        claims.push({ worker, begun, ended: event, jobs });
        last = jobs.length;
      }
    }),
  );
  return claims;
}

test("with twenty workers, each of two thousand tenants is served during every cycle of each worker", {
  timeout: 120_000,
}, async ({ db }) => {
  const workers = 20;
  await load(db, { count: (turnsPerCycle + 4) * workers * laneCount, tenants: tenantCount });
  await db.query("analyze jobforge.queue");
  const application = await db.connect();
  let working = true;
  const refill = async (): Promise<void> => {
    for (let n = 0; working; n += 1) {
      await enqueueJobs(application, Array(50).fill({ type: "a" }), tenant(1 + (n % 5)));
    }
  };
  const [claims] = await Promise.all([
    claimTogether(db, workers, laneCount, (n) => n < turnsPerCycle + 1).finally(() => {
      working = false;
    }),
    refill(),
  ]);
  for (let worker = 0; worker < workers; worker += 1) {
    const own = claims.filter((claimed) => claimed.worker === worker);
    for (const [n, first] of own.slice(0, -turnsPerCycle + 1).entries()) {
      const last = own[n + turnsPerCycle - 1] ?? first;
      const meanwhile = claims.filter((other) => other.ended > first.begun && other.begun < last.ended);
      const served = new Set(meanwhile.flatMap(({ jobs }) => jobs.map((job) => job.tenant_id)));
      expect(served.size, `tenants served while worker ${worker} did one cycle`).toBe(tenantCount);
    }
  }
});

/** Enqueues jobs of all priorities, tenants and types, in random order. */
async function enqueueJumble(db: Sql, count: number): Promise<void> {
  const random = randomFrom(count);
  for (let n = 1; n <= 30; n += 1) {
    const jobs = Array.from({ length: count / 30 }, () => ({
      type: random.pick(["a", "b", "c", "d", "e"]),
      priority: random.below(6) - 2,
    }));
    await enqueueJobs(db, jobs, tenant(n));
  }
}

test.for(["with a hint", "without a hint"])(
  "one worker %s starts jobs in order of priority, across types and tenants",
  async (how, { db }) => {
    await enqueueJumble(db, 1500);
    const worker = hintedWorker(db, "w1");
    const started: number[] = [];
    for (let jobs: { priority: number }[] = [{ priority: 0 }]; jobs.length > 0; ) {
      jobs = how === "with a hint" ? (await worker.call(37)).jobs : await claim(db, "w1", { limit: 37 });
      started.push(...jobs.map((job) => job.priority));
    }
    expect(started).toHaveLength(1500);
    expect(started).toEqual([...started].sort((a, b) => b - a));
  },
);

test("none of twenty workers starts a job while a more urgent one is waiting", async ({ db }) => {
  await enqueueJumble(db, 3000);
  const claims = await claimTogether(db, 20, 11, (_, last) => last > 0);
  const started = claims.flatMap(({ begun, ended, jobs }) =>
    jobs.map(({ priority }) => ({ begun, ended, priority })),
  );
  expect(started).toHaveLength(3000);
  // More urgent jobs were claimed before, or are being claimed by another worker at the same time.
  const passedOver = started.filter(({ ended, priority }) =>
    started.some((other) => other.priority > priority && other.begun > ended),
  );
  expect(passedOver).toEqual([]);
});

/** The ways to request a priority. Each creates a job of the type 'capped'. */
const asking: Record<string, (db: Sql, priority: number) => Promise<unknown>> = {
  "an enqueue": (db, priority) => enqueue(db, { type: "capped", priority }),
  "a bulk enqueue": (db, priority) => enqueueJobs(db, [{ type: "capped", priority }]),
  "a replacement": async (db, priority) => {
    await enqueue(db, { type: "capped", dedupe_key: "k" });
    await enqueue(db, { type: "capped", dedupe_key: "k", dedupe_mode: "replace", priority });
  },
  "a debounce": async (db, priority) => {
    await enqueue(db, { type: "capped", dedupe_key: "k", in: "1 hour" });
    await enqueue(db, { type: "capped", dedupe_key: "k", dedupe_mode: "debounce", priority });
  },
  "an update": async (db, priority) => {
    const { id } = await enqueue(db, { type: "capped" });
    await db.query("select jobforge_update_job($1, $2, $3)", [id, T, { priority }]);
  },
  "a child": async (db, priority) => {
    const { id } = await enqueue(db, { type: "parent" });
    await claim(db, "w1", { types: ["parent"] });
    await settle(db, [success(id, { children: [{ type: "capped", priority }] })]);
  },
};

test.for(Object.keys(asking).flatMap((way) => ["capped", "*"].map((type) => [way, type] as const)))(
  "the priority of %s is capped by the policy '%s', below more urgent jobs and next to equal ones",
  async ([way, type], { db }) => {
    await setPolicy(db, type, { max_priority: 4 });
    await setPolicy(db, "free", { max_priority: null });
    for (const [priority, owner] of [
      [3, T],
      [4, U],
      [5, unknownId],
    ] as const) {
      await enqueue(db, { type: "free", priority, tenant_id: owner });
    }
    await asking[way]?.(db, 1_000_000);
    const jobs = await claim(db, "w1", { limit: 10 });
    const order = jobs.map((job) => `${job.type} ${job.priority}`);
    expect([order[0], order.slice(1, 3).sort(), order[3]]).toEqual([
      "free 5",
      ["capped 4", "free 4"],
      "free 3",
    ]);
  },
);
