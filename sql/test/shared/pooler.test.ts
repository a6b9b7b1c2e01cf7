/**
 * The kernel through pgbouncer in transaction mode, where several clients share few sessions. The kernel needs no named
 * statements, no LISTEN and no session state, and a tenant set for one transaction is not visible after it.
 */
import type { TestConnection, TestDatabase } from "@jobforge/testing";
import { afterAll, beforeAll, describe, expect, inject } from "vitest";
import { test } from "../../../test/database.ts";
import { type Pooler, pgbouncer, startPooler } from "../../../test/pooler.ts";
import { claim, claimIds, complete, enqueue, find, heartbeat, T, U } from "../support/kernel.ts";
import { listen } from "../support/listen.ts";
import { settle } from "../support/settle.ts";

const sessionCount = 2;

describe.skipIf(pgbouncer === undefined)("through pgbouncer in transaction mode", () => {
  let pooler: Pooler;
  beforeAll(async () => {
    pooler = await startPooler(inject("server").url, { sessions: sessionCount });
  });
  afterAll(() => pooler.stop());

  /** Connects another client through the pooler, as the superuser or as a login. */
  const connect = async (db: TestDatabase, login?: { url: string }): Promise<TestConnection> =>
    await db.connect(pooler.through(login?.url ?? db.url));

  /** Holds all sessions but one, so that the next client gets that one. Returns a function that ends the holds. */
  const holdAllButOne = async (db: TestDatabase, login?: { url: string }): Promise<() => Promise<void>> => {
    const holders: TestConnection[] = [];
    for (let n = 1; n < sessionCount; n += 1) {
      const holder = await connect(db, login);
      await holder.query("begin");
      await holder.query("select 1");
      holders.push(holder);
    }
    return async () => {
      for (const holder of holders) await holder.query("rollback");
    };
  };

  /** Runs statements in one transaction as a tenant, as applications do behind a pooler. */
  const asTenant = async <Result>(
    client: TestConnection,
    tenant: string,
    work: () => Promise<Result>,
  ): Promise<Result> => {
    await client.query("begin");
    await client.query("select set_config('app.tenant_id', $1, true)", [tenant]);
    const answer = await work();
    await client.query("commit");
    return answer;
  };

  test("a named statement fails, so the other tests prove that the kernel uses none", async ({ db }) => {
    const [first, second] = [await connect(db), await connect(db)];
    const named = async (): Promise<unknown> => await second.client.query({ name: "mine", text: "select 1" });
    await first.query("begin");
    await first.query("select 1");
    await named();
    // Now the session with the statement is in use, and the other one is free.
    const third = await connect(db);
    await third.query("begin");
    await third.query("select 1");
    await first.query("commit");
    await expect(named()).rejects.toMatchObject({ code: "26000" });
    await third.query("commit");
  });

  test("six clients on two sessions enqueue and run 300 jobs by polling alone, each run once", async ({
    db,
  }) => {
    await db.query("create table orders (id int primary key)");
    const clients = await Promise.all(Array.from({ length: 6 }, () => connect(db)));
    const [first, second, ...workers] = clients as [TestConnection, TestConnection, ...TestConnection[]];
    let producing = true;
    const produced = Promise.all([produceOneByOne(first, 100), produceInBulk(second, 200)]).finally(() => {
      producing = false;
    });
    const runs = await Promise.all(workers.map((worker, n) => work(worker, `w${n}`, () => producing)));
    await produced;

    const ended = await db.query<{ status: string; jobs: number }>(
      "select status, count(*)::int as jobs from jobforge_jobs group by status order by status",
    );
    // Each of the 300 jobs is retried once and has a child.
    expect(ended).toEqual([{ status: "succeeded", jobs: 600 }]);
    expect(runs.flat()).toHaveLength(900);
    expect(new Set(runs.flat()).size, "runs, by job and attempt").toBe(900);
    expect(await db.value("select count(*)::int from orders")).toBe(100);
    await expectCleanSessions(db);
  });

  /** Enqueues each job in one transaction with a row of the application. Every second one is first rolled back. */
  async function produceOneByOne(client: TestConnection, count: number): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      for (const end of n % 2 === 0 ? ["commit"] : ["rollback", "commit"]) {
        await client.query("begin");
        await client.query("insert into orders values ($1)", [n]);
        await enqueue(client, { tenant_id: n % 3 === 0 ? U : T, idempotency_key: `order ${n}` });
        await client.query(end);
      }
    }
  }

  async function produceInBulk(client: TestConnection, count: number): Promise<void> {
    for (let n = 0; n < count; n += 50) {
      const jobs = Array.from({ length: 50 }, (_, k) => ({ type: "a", dedupe_key: `${n + k}` }));
      await client.query("select jobforge_enqueue_jobs($1, $2)", [T, JSON.stringify(jobs)]);
    }
  }

  /**
   * Works with settle, claim and heartbeats until no job is left. Each first attempt of type 'a' fails, and the second
   * creates a child.
   */
  async function work(client: TestConnection, worker: string, more: () => boolean): Promise<string[]> {
    const runs: string[] = [];
    let hint: unknown;
    let results: object[] = [];
    for (;;) {
      const last = !more();
      const answer = await settle(client, results, { worker, claim: 7, hint });
      expect(answer.settled.every(({ outcome }) => outcome === "ok")).toBe(true);
      if (answer.jobs.length === 0 && results.length === 0 && last) return runs;
      hint = answer.hint;
      const held = answer.jobs.map(({ id, attempts }) => ({ id, attempt: attempts }));
      await client.query("select jobforge_heartbeat_worker($1, $2)", [worker, JSON.stringify({ held })]);
      if (held[0] !== undefined) await heartbeat(client, held[0].id, worker);
      results = answer.jobs.map(({ id, attempts, type }) => ({
        id,
        attempt: attempts,
        ...(type === "a" && attempts === 1
          ? { status: "failed", retry_at: "2000-01-01T00:00:00Z" }
          : { status: "succeeded", ...(type === "a" ? { children: [{ type: "child" }] } : {}) }),
      }));
      runs.push(...held.map(({ id, attempt }) => `${id} ${attempt}`));
    }
  }

  /** Expects that neither the kernel nor the test has left any state in a session. */
  async function expectCleanSessions(db: TestDatabase): Promise<void> {
    const clients = await Promise.all(Array.from({ length: sessionCount }, () => connect(db)));
    for (const client of clients) {
      await client.query("begin");
      expect(
        await client.query(
          `select 'statement ' || name as left_behind from pg_prepared_statements
           union all select 'listens to ' || c from pg_listening_channels() c
           union all select 'holds ' || objid from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()
           union all select 'table ' || relname from pg_class where relnamespace = pg_my_temp_schema()
           union all select 'setting ' || s || ' ' || current_setting(s, true)
             from unnest(array['app.tenant_id', 'request.jwt.claims', 'jobforge.clock_offset']) s
             where current_setting(s, true) <> ''
           union all select 'setting ' || name || ' ' || setting from pg_settings
             where name in ('lock_timeout', 'statement_timeout', 'search_path', 'jit', 'enable_seqscan',
               'enable_bitmapscan', 'enable_nestloop', 'enable_hashjoin', 'plan_cache_mode', 'role')
               and setting <> reset_val`,
        ),
      ).toEqual([]);
    }
    // Each client was in a different session.
    const pids = await Promise.all(clients.map((client) => client.value("select pg_backend_pid()")));
    expect(new Set(pids).size).toBe(sessionCount);
    for (const client of clients) await client.query("rollback");
  }

  test("a tenant set for one transaction is not visible to the next client of the same session", async ({
    db,
  }) => {
    const login = await db.createLogin("jobforge_app");
    const mine = (await enqueue(db, { tenant_id: T })).id;
    const theirs = (await enqueue(db, { tenant_id: U })).id;
    const release = await holdAllButOne(db, login);
    const [first, second] = [await connect(db, login), await connect(db, login)];
    const seen = async (client: TestConnection) => ({
      session: await client.value<number>("select pg_backend_pid()"),
      jobs: (await client.query<{ id: string }>("select id from jobforge_jobs")).map(({ id }) => id),
    });

    const one = await asTenant(first, T, () => seen(first));
    expect(one.jobs).toEqual([mine]);
    const none = await seen(second);
    expect(none).toEqual({ session: one.session, jobs: [] });
    await expect(enqueue(second, { tenant_id: T })).rejects.toMatchObject({ code: "42501" });
    expect(await asTenant(second, U, () => seen(second))).toEqual({ session: one.session, jobs: [theirs] });
    expect((await seen(first)).jobs).toEqual([]);
    await release();
  });

  test("ten clients of five tenants on two sessions always see only their own jobs", async ({ db }) => {
    const login = await db.createLogin("jobforge_app");
    const tenants = Array.from({ length: 5 }, (_, n) => `00000000-0000-4000-8000-00000000000${n + 1}`);
    const clients = await Promise.all(Array.from({ length: 10 }, () => connect(db, login)));
    const visit = async (client: TestConnection, n: number): Promise<void> => {
      const tenant = tenants[n % tenants.length] ?? T;
      for (let round = 0; round < 10; round += 1) {
        const owners = await asTenant(client, tenant, async () => {
          await enqueue(client, { tenant_id: tenant });
          return await client.query("select distinct tenant_id from jobforge_jobs");
        });
        expect(owners).toEqual([{ tenant_id: tenant }]);
        expect(await client.query("select id from jobforge_jobs")).toEqual([]);
      }
    };
    await Promise.all(clients.map(visit));
    expect(await db.value("select count(*)::int from jobforge_jobs")).toBe(100);
  });

  test("a setting left in a session affects its next client, except bound logins and clients that set a tenant", async ({
    db,
  }) => {
    const app = await db.createLogin("jobforge_app");
    const bound = await db.createLogin("jobforge_app");
    await db.query("select jobforge_bind_role($1, $2)", [bound.role, U]);
    const mine = (await enqueue(db, { tenant_id: T })).id;
    const theirs = (await enqueue(db, { tenant_id: U })).id;
    const jobs = async (client: TestConnection): Promise<unknown[]> =>
      (await client.query<{ id: string }>("select id from jobforge_jobs")).map(({ id }) => id);

    for (const login of [app, bound]) {
      const release = await holdAllButOne(db, login);
      const [careless, next] = [await connect(db, login), await connect(db, login)];
      await careless.query("select set_config('app.tenant_id', $1, false)", [T]);
      // The pooler does not reset the session. Therefore a tenant is set per transaction, or bound to the login.
      expect(await jobs(next), "jobs that the setting shows").toEqual([login === app ? mine : theirs]);
      expect(await asTenant(next, U, () => jobs(next))).toEqual([theirs]);
      await careless.query("select set_config('app.tenant_id', '', false)");
      await release();
    }
    const rightful = await connect(db, bound);
    await expect(enqueue(rightful, { tenant_id: T })).rejects.toMatchObject({ code: "42501" });
  });

  test("a LISTEN stays in the old session, a NOTIFY is sent, and a poll finds all jobs", async ({ db }) => {
    const { heard } = await listen(db);
    const [sleeper, other] = [await connect(db), await connect(db)];
    await other.query("begin");
    await other.query("select 1");
    await sleeper.query("listen jobforge_wake");
    const third = await connect(db);
    await third.query("begin");
    await third.query("select 1");
    await other.query("commit");
    expect(await sleeper.query("select * from pg_listening_channels()"), "in its next session").toEqual([]);
    await third.query("unlisten *");
    await third.query("commit");

    await sleeper.query(`select jobforge_heartbeat_worker('w1', '{"types": ["a"], "idle": true}')`);
    const { id } = await enqueue(other);
    expect(await heard(), "by a listener without the pooler").toEqual(["jobforge_wake: a"]);
    expect(await claimIds(sleeper, "w1", { types: ["a"] })).toEqual([id]);
  });

  test("a worker that only polls notices cancels, retries, resumed gates and lost leases", async ({ db }) => {
    const [app, worker] = [await connect(db), await connect(db)];
    const { id } = await enqueue(app);
    expect(await claimIds(worker)).toEqual([id]);
    await app.query("select jobforge_cancel_job($1, $2)", [id, T]);
    const held = JSON.stringify({ instance: "i", held: [{ id, attempt: 1 }] });
    expect(await worker.value("select jobforge_heartbeat_worker('w1', $1) -> 'cancel'", [held])).toEqual([
      { id, attempt: 1 },
    ]);
    expect(await complete(worker, id)).toMatchObject({ status: "canceled" });

    const again = await enqueue(app);
    await claimIds(worker);
    await complete(worker, again.id, { status: "failed", retry_at: "2000-01-01T00:00:00Z" });
    await app.query("select jobforge_set_gate('type', 'a', true)");
    expect(await claimIds(worker)).toEqual([]);
    await app.query("select jobforge_set_gate('type', 'a', false)");
    expect(await claim(worker)).toMatchObject([{ id: again.id, attempts: 2 }]);

    // A poll ten minutes later: only the clock of this transaction is moved.
    await app.query("begin");
    await app.query("select set_config('jobforge.clock_offset', '10 minutes', true)");
    expect(await claim(app, "w2")).toMatchObject([{ id: again.id, attempts: 3 }]);
    await app.query("commit");
    await expect(complete(worker, again.id)).rejects.toMatchObject({ code: "JF003" });
    expect(await find(db, again.id)).toMatchObject({ status: "running", locked_by: "w2" });
  });
});
