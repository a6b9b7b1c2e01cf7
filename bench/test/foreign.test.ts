/**
 * Tests that the contestants in other languages follow the contract of the benchmark driver. They need Go or Python,
 * and the first build takes minutes, so these tests run only with JOBFORGE_BENCH_PEERS=1.
 */
import { describe, expect, vi } from "vitest";
import { test as base } from "../../test/database.ts";
import { install as installPython } from "../peers/python/install.js";
import { install as installRiver } from "../peers/river/install.js";
import { type Contestant, startContestant } from "./contestant.ts";

const asked = process.env["JOBFORGE_BENCH_PEERS"] === "1";
if (!asked) {
  console.warn(
    "!! SKIPPED: tests of the contestants in Go and Python. Set JOBFORGE_BENCH_PEERS=1 to build and run them.",
  );
}

type Tell = (message: string) => void;

interface Foreign {
  readonly name: string;
  readonly install: (tell: Tell) => { command: string; args: string[]; env?: Record<string, string> };
  readonly listensUnseen?: boolean;
  /** Queries: the jobs that have not ended, those that were retried, those that are due later, the longest text. */
  readonly left: string;
  readonly retried: string;
  readonly ahead: string;
  readonly pad: string;
}

const foreign: readonly Foreign[] = [
  {
    name: "River",
    install: installRiver,
    left: "select count(*)::int from river_job where state <> 'completed'",
    retried: "select count(*)::int from river_job where state = 'completed' and attempt = 2",
    ahead: "select count(*)::int from river_job where scheduled_at > now() + interval '50 minutes'",
    pad: "select max(length(args->>'pad')) from river_job",
  },
  {
    name: "Procrastinate",
    install: (tell: Tell) => installPython("procrastinate", tell),
    left: "select count(*)::int from procrastinate_jobs where status <> 'succeeded'",
    retried: "select count(distinct job_id)::int from procrastinate_events where type = 'deferred_for_retry'",
    ahead: "select count(*)::int from procrastinate_jobs where scheduled_at > now() + interval '50 minutes'",
    pad: "select max(length(args->>'pad')) from procrastinate_jobs",
  },
  {
    name: "PgQueuer",
    install: (tell: Tell) => installPython("pgqueuer", tell),
    // It listens on the connection of its other statements, so LISTEN is not the last one.
    listensUnseen: true,
    left: "select count(*)::int from pgqueuer",
    retried:
      "select count(*)::int from (select from pgqueuer_log where status = 'picked' group by job_id having count(*) = 2) j",
    ahead: "select count(*)::int from pgqueuer where execute_after > now() + interval '50 minutes'",
    pad: "select max(length(convert_from(payload, 'utf8')::json->>'pad')) from pgqueuer",
  },
  {
    name: "Chancy",
    install: (tell: Tell) => installPython("chancy", tell),
    left: "select count(*)::int from chancy_jobs where state <> 'succeeded'",
    retried:
      "select count(*)::int from chancy_jobs where state = 'succeeded' and jsonb_array_length(errors) = 1",
    ahead: "select count(*)::int from chancy_jobs where scheduled_at > now() + interval '50 minutes'",
    pad: "select max(length(kwargs->>'pad')) from chancy_jobs",
  },
  {
    name: "Oban",
    install: (tell: Tell) => installPython("oban", tell),
    left: "select count(*)::int from oban_jobs where state <> 'completed'",
    retried: "select count(*)::int from oban_jobs where state = 'completed' and attempt = 2",
    ahead: "select count(*)::int from oban_jobs where scheduled_at > now() + interval '50 minutes'",
    pad: "select max(length(args->>'pad')) from oban_jobs",
  },
  ...["jobforge", "jobforge-over-http"].map((module) => ({
    name: `JobForge in Python (${module})`,
    install: (tell: Tell) => installPython(module, tell),
    // It proves that it hears, with a statement after LISTEN. Over HTTP it does not listen.
    listensUnseen: true,
    left: "select count(*)::int from jobforge_jobs where status <> 'succeeded'",
    retried: "select count(*)::int from jobforge_jobs where status = 'succeeded' and attempts = 2",
    ahead: "select count(*)::int from jobforge_jobs where run_at > now() + interval '50 minutes'",
    pad: "select max(length(payload->>'pad')) from jobforge_jobs",
  })),
];

/** The number of workers that listen for notifications. Each has a separate connection for it. */
const listens = `select count(*)::int from pg_stat_activity where datname = current_database() and query ilike 'listen%'`;

describe.runIf(asked).each(foreign)(
  "$name follows the contract",
  ({ name, install, listensUnseen = false, ...sql }) => {
    const test = base.extend<{ start: (settings: "best" | "default") => Promise<Contestant> }>({
      start: async ({ db, skip }, use) => {
        let program: ReturnType<typeof install>;
        try {
          program = install((message) => console.warn(message));
        } catch (error) {
          const reason = error instanceof Error ? error.message : String(error);
          const missing = reason.includes("on the PATH") && process.env["JOBFORGE_REQUIRE_TOOLS"] !== "1";
          if (!missing) throw error;
          console.warn(`!! SKIPPED: tests of the contestant ${name}. ${reason}`);
          return skip(reason);
        }
        const started: Contestant[] = [];
        await use(async (settings) => {
          const contestant = startContestant(program, { DATABASE_URL: db.url, BENCH_SETTINGS: settings });
          started.push(contestant);
          const { error } = await contestant.ask({ do: "prepare" });
          expect(error).toBeUndefined();
          return contestant;
        });
        for (const contestant of started) await contestant.kill();
      },
    });

    test("jobs enqueued one by one, in bulk and at a rate are run, counted and written", {
      timeout: 600_000,
    }, async ({ db, start }) => {
      const before = Date.now();
      const contestant = await start("best");
      expect(await contestant.ask({ do: "prepare" })).toEqual({
        version: expect.stringMatching(/^v?\d+\.\d+\.\d+$/),
        keeps: expect.any(String),
        settings: expect.any(String),
      });
      const one = { do: "enqueue", jobs: 20, how: "one", concurrency: 4, payloadBytes: 100, seconds: 60 };
      expect(await contestant.ask(one)).toEqual({ jobs: 20, seconds: expect.any(Number) });
      expect(await db.value(sql.pad)).toBe(100);
      const bulk = { do: "enqueue", jobs: 30, how: "bulk", tenants: 3, tenantFrom: 10, seconds: 60 };
      expect(await contestant.ask(bulk)).toEqual({ jobs: 30, seconds: expect.any(Number) });
      expect(await contestant.ask({ do: "count" })).toEqual({ done: 0, first: 0, last: 0 });

      expect(await contestant.ask({ do: "work", sleepMs: 1, concurrency: 5, limit: null })).toEqual({
        workers: 1,
      });
      await finished(contestant, 50);
      const produce = { do: "produce", rate: 100, seconds: 0.1, tenants: 1, tenantFrom: 20 };
      expect(await contestant.ask(produce)).toEqual({ jobs: 10, seconds: expect.any(Number) });
      const { first, last } = await finished(contestant, 60);
      expect(await contestant.ask({ do: "stop" })).toEqual({});
      expect(await db.value(sql.left)).toBe(0);
      expect(first).toBeGreaterThanOrEqual(before);
      expect(last).toBeGreaterThanOrEqual(first);
      expect(last).toBeLessThanOrEqual(Date.now() + 1);

      const { n, p50, p95, p99, max } = await contestant.ask({ do: "waits", tenantFrom: 11, tenantTo: 12 });
      expect(n).toBe(20);
      expect([p50, p95, p99, max].map(Number).toSorted((a, b) => a - b)).toEqual([p50, p95, p99, max]);
      expect(Number(p50)).toBeGreaterThan(0);
      expect(Number(max)).toBeLessThan(Date.now() - before);
      expect((await contestant.ask({ do: "waits", tenantFrom: 20 }))["n"]).toBe(10);
      expect((await contestant.ask({ do: "waits" }))["n"]).toBe(30);
      expect(await contestant.ask({ do: "waits" })).toEqual({ n: 0, p50: 0, p95: 0, p99: 0, max: 0 });
      expect(await contestant.end()).toBe(0);
    });

    test("with default settings, a failed job is retried, and its wait is that of the first execution", async ({
      db,
      start,
    }) => {
      const contestant = await start("default");
      await contestant.ask({ do: "work", sleepMs: 0, concurrency: null, limit: null });
      await contestant.ask({ do: "enqueue", jobs: 10, how: "bulk", failShare: 0.2, seconds: 60 });
      await contestant.ask({
        do: "enqueue",
        jobs: 10,
        how: "one",
        concurrency: 50,
        failShare: 0.1,
        seconds: 60,
      });
      await finished(contestant, 20);
      await contestant.ask({ do: "stop" });
      expect(await db.value(sql.left)).toBe(0);
      expect(await db.value(sql.retried)).toBe(3);
      expect((await contestant.ask({ do: "waits" }))["n"]).toBe(20);
    });

    test("after a worker stops, another one can start, in the same or another process", async ({
      db,
      start,
    }) => {
      const contestant = await start("best");
      const other = await start("best");
      for (const worker of [contestant, other, contestant]) {
        await worker.ask({ do: "enqueue", jobs: 5, how: "bulk", seconds: 60 });
        expect(await worker.ask({ do: "work", sleepMs: 0, workers: 2 })).toEqual({ workers: 2 });
        if (!listensUnseen)
          await vi.waitFor(async () => expect(await db.value(listens)).toBe(2), { timeout: 30_000 });
        await vi.waitFor(async () => expect(await db.value(sql.left)).toBe(0), { timeout: 30_000 });
        await worker.ask({ do: "stop" });
      }
      expect((await contestant.ask({ do: "count" }))["done"]).toBe(10);
      expect((await other.ask({ do: "count" }))["done"]).toBe(5);
    });

    test("enqueueing stops at its time limit, can schedule jobs, and invalid requests get an error", async ({
      db,
      start,
    }) => {
      const contestant = await start("best");
      const { jobs } = await contestant.ask({ do: "enqueue", jobs: 1e9, how: "one", seconds: 0.5 });
      expect(jobs).toBe(await db.value(sql.left));
      expect(jobs).toBeGreaterThan(0);
      for (const how of ["one", "bulk"]) {
        await contestant.ask({ do: "enqueue", jobs: 3, how, delaySeconds: 3600, seconds: 60 });
      }
      expect(await db.value(sql.ahead)).toBe(6);
      expect(await contestant.ask({ do: "work", sleepMs: 0, limit: 5 })).toEqual({
        unsupported: expect.any(String),
      });
      for (const wrong of ["nonsense", { do: "dance" }, { do: "enqueue", jobs: 1, how: "somehow" }]) {
        expect(await contestant.ask(wrong)).toEqual({ error: expect.any(String) });
      }
      expect((await contestant.ask({ do: "count" }))["done"]).toBe(0);
    });
  },
);

/** Waits until `jobs` jobs have succeeded. Resolves to the times when the first began and the last ended. */
async function finished(contestant: Contestant, jobs: number): Promise<{ first: number; last: number }> {
  return await vi.waitFor(
    async () => {
      const { done, first, last } = await contestant.ask({ do: "count" });
      expect(done).toBe(jobs);
      return { first: Number(first), last: Number(last) };
    },
    { timeout: 30_000, interval: 20 },
  );
}
