import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { json, run, T, test, U } from "./support.ts";

async function enqueueMany(db: TestDatabase, type: string, count: number, tenant = T): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    "select jobforge_enqueue_job($1, $2) ->> 'id' as id from generate_series(1, $3)",
    [tenant, type, count],
  );
  return rows.map(({ id }) => id);
}

async function failAll(db: TestDatabase, type: string, message: string): Promise<void> {
  await db.query(
    `select jobforge_complete_job(id, 'w', 'failed', jsonb_build_object('message', $2::text), p_retry => false)
     from jobforge_claim_jobs('w', 1000, array[$1])`,
    [type, message],
  );
}

async function statuses(db: TestDatabase): Promise<Record<string, number>> {
  const rows = await db.query<{ status: string; jobs: number }>(
    "select status, count(*)::int as jobs from jobforge_jobs group by 1 order by 1",
  );
  return Object.fromEntries(rows.map(({ status, jobs }) => [status, jobs]));
}

describe("jobforge jobs cancel", () => {
  test("cancels one job by its id", async ({ db }) => {
    const [id = "", other = ""] = await enqueueMany(db, "a", 2);
    const env = { DATABASE_URL: db.url };
    expect(await run(["jobs", "cancel", id], env)).toMatchObject({
      exitCode: 0,
      stdout: `${id} is canceled.\n`,
    });
    expect(await json(["jobs", "cancel", other], db.url)).toMatchObject({ id: other, status: "canceled" });
    const again = await run(["jobs", "cancel", id], env);
    expect(again.exitCode).toBe(1);
    expect(again.stderr).toMatch(
      new RegExp(`^${id} cannot be canceled\\. It is already finished: canceled (now|\\d+.* ago)\\.\n`),
    );
    const refused = await run(["jobs", "cancel", id, "--json"], env);
    expect(JSON.parse(refused.stderr)).toMatchObject({ error: { name: "not_cancelable", exitCode: 1 } });
    expect(await run(["jobs", "cancel", U], env)).toMatchObject({ exitCode: 4 });
  });

  test("asks a running job to stop", async ({ db }) => {
    const [id = ""] = await enqueueMany(db, "a", 1);
    await db.query("select from jobforge_claim_jobs('w')");
    const { exitCode, stdout } = await run(["jobs", "cancel", id], { DATABASE_URL: db.url });
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: `${id} is running and was asked to stop.\n`,
    });
  });

  test.for([
    ["--tag", ""],
    ["--tag", ","],
    ["--type", " "],
    ["--status", ""],
    ["--error", ""],
    ["--subject", ""],
    ["--error-group", " "],
    ["--created-before", "999999999d"],
    ["--finished-after", "300000000d"],
  ])("an empty or invalid filter (%s %j) does not match all jobs", async ([option, value], { db }) => {
    await enqueueMany(db, "a", 2);
    const refused = await run(["jobs", "cancel", option ?? "", value ?? "", "--yes"], {
      DATABASE_URL: db.url,
    });
    expect(refused).toMatchObject({ exitCode: 2, stdout: "" });
    expect(await statuses(db)).toEqual({ queued: 2 });
  });

  test("with filters it shows the number of jobs and asks for confirmation", async ({ db }) => {
    await enqueueMany(db, "a", 3);
    await enqueueMany(db, "a", 2, U);
    await enqueueMany(db, "b", 1);
    const env = { DATABASE_URL: db.url, NO_COLOR: "1" };
    const args = ["jobs", "cancel", "--type", "a"];
    const declined = await run(args, env, { terminal: { typed: "n\n" } });
    expect(declined).toMatchObject({ exitCode: 1, stdout: "" });
    expect(declined.stderr).toContain("This cancels 5 jobs of 2 tenants. Continue? [y/N]");
    expect(declined.stderr).toContain("Nothing was changed.");
    expect(await statuses(db)).toEqual({ queued: 6 });
    const agreed = await run(args, env, { terminal: { typed: "y\n" } });
    expect(agreed).toMatchObject({ exitCode: 0, stdout: "5 jobs canceled or asked to stop.\n" });
    expect(await statuses(db)).toEqual({ canceled: 5, queued: 1 });
  });

  test("without a terminal it needs --yes", async ({ db }) => {
    await enqueueMany(db, "a", 2);
    const refused = await run(["jobs", "cancel", "--type", "a", "--json"], { DATABASE_URL: db.url });
    expect(refused).toMatchObject({ exitCode: 2, stdout: "" });
    expect(JSON.parse(refused.stderr)).toMatchObject({ error: { name: "usage" } });
    expect(refused.stderr).toContain("This cancels 2 jobs of 1 tenant.");
    expect(await statuses(db)).toEqual({ queued: 2 });
    const done = await json(["jobs", "cancel", "--type", "a", "--yes"], db.url);
    expect(done).toEqual({ matched: 2, changed: 2, tenants: 1 });
  });

  test("works batch by batch, running jobs included", async ({ db }) => {
    await enqueueMany(db, "a", 2300);
    await db.query("select count(*) from jobforge_claim_jobs('w', 1000)");
    await db.query("select count(*) from jobforge_claim_jobs('w', 100)");
    expect(await json(["jobs", "cancel", "--type", "a", "--yes"], db.url)).toEqual({
      matched: 2300,
      changed: 2300,
      tenants: 1,
    });
    expect(await statuses(db)).toEqual({ canceled: 1200, running: 1100 });
    expect(await db.value("select count(*)::int from jobforge_jobs where cancel_requested")).toBe(1100);
  });

  test("shows its progress in a terminal only", async ({ db }) => {
    await enqueueMany(db, "a", 3);
    const { stderr } = await run(
      ["jobs", "cancel", "--type", "a", "--yes"],
      { DATABASE_URL: db.url },
      { terminal: {} },
    );
    expect(stderr).toContain("0/3");
    expect(stderr).toContain("3/3");
    await enqueueMany(db, "a", 3);
    expect(await run(["jobs", "cancel", "--type", "a", "--yes"], { DATABASE_URL: db.url })).toMatchObject({
      stderr: "",
    });
  });

  test("changes all jobs although their count ends at 100,000", async ({ db }) => {
    await enqueueMany(db, "a", 1, U);
    await db.query(
      `select jobforge_enqueue_jobs($1, (select jsonb_agg(jsonb_build_object('type', 'a')) from generate_series(1, 25000)))
       from generate_series(1, 4)`,
      [T],
    );
    const args = ["jobs", "cancel", "--type", "a"];
    const asked = await run(args, { DATABASE_URL: db.url });
    expect(asked.stderr).toContain("This cancels at least 100,000 jobs of at least 1 tenant.");
    expect(await json([...args, "--yes"], db.url)).toEqual({
      matched: 100_001,
      changed: 100_001,
      tenants: 2,
    });
  });

  test("without an id or a filter it changes nothing", async ({ db }) => {
    const [id = ""] = await enqueueMany(db, "a", 1);
    for (const args of [
      ["jobs", "cancel", "--yes"],
      ["jobs", "cancel", id, "--type", "a"],
    ]) {
      expect(await run(args, { DATABASE_URL: db.url })).toMatchObject({ exitCode: 2, stdout: "" });
    }
    expect(await statuses(db)).toEqual({ queued: 1 });
    expect(await json(["jobs", "cancel", "--all", "--yes"], db.url)).toMatchObject({ changed: 1 });
  });

  test("says that no jobs match", async ({ db }) => {
    expect(await run(["jobs", "cancel", "--type", "a"], { DATABASE_URL: db.url })).toMatchObject({
      exitCode: 0,
      stdout: "No jobs match.\n",
    });
  });
});

describe("jobforge jobs retry", () => {
  test("runs one job again, now or at another time", async ({ db }) => {
    const [id = "", later = ""] = await enqueueMany(db, "a", 2);
    await failAll(db, "a", "boom");
    const env = { DATABASE_URL: db.url };
    expect(await run(["jobs", "retry", id], env)).toMatchObject({
      exitCode: 0,
      stdout: `${id} is queued, but cannot start:\n  No live worker handles the type a: none is alive\n`,
    });
    await db.query(`select jobforge_heartbeat_worker('w1', '{"types": ["a"]}')`);
    expect(await run(["jobs", "retry", id], env)).toMatchObject({
      exitCode: 0,
      stdout: `${id} is queued and runs now.\n`,
    });
    await db.query("select jobforge_set_gate('type', 'a', true)");
    expect(await json(["jobs", "retry", id], db.url)).toMatchObject({ id, obstacles: [{ code: "paused" }] });
    await db.query("select jobforge_set_gate('type', 'a', false)");
    const rescheduled = await json<{ runAt: string }>(
      ["jobs", "retry", later, "--at", "2030-01-01T00:00:00Z"],
      db.url,
    );
    expect(rescheduled).toMatchObject({ id: later, status: "queued", runAt: "2030-01-01T00:00:00.000Z" });
    await db.query("select from jobforge_claim_jobs('w', 1)");
    const running = await run(["jobs", "retry", id], env);
    expect(running).toMatchObject({ exitCode: 1, stdout: "" });
    expect(running.stderr).toContain(`${id} cannot be retried. It is running.`);
  });

  test("with filters it retries only failed and dead jobs", async ({ db }) => {
    await enqueueMany(db, "a", 3);
    await failAll(db, "a", "boom");
    await db.query("select jobforge_enqueue_job($1, 'a', p_run_at => now() + interval '1 day')", [T]);
    const env = { DATABASE_URL: db.url };
    expect(await run(["jobs", "retry", "--type", "a", "--yes"], env)).toMatchObject({
      exitCode: 0,
      stdout: "3 jobs queued again.\n",
    });
    expect(
      await db.value("select count(*)::int from jobforge_jobs where run_at > now() + interval '1 hour'"),
    ).toBe(1);
    expect(await run(["jobs", "retry", "--status", "queued", "--yes"], env)).toMatchObject({ exitCode: 2 });
    expect(await run(["jobs", "retry", "--yes"], env)).toMatchObject({ exitCode: 2 });
    expect(await run(["jobs", "retry", "--type", "a", "--at", "1h"], env)).toMatchObject({ exitCode: 2 });
  });

  test("ends with 1 if a job cannot be retried", async ({ db }) => {
    await db.query("select jobforge_enqueue_job($1, 'a', p_dedupe_key => 'k')", [T]);
    await failAll(db, "a", "boom");
    await db.query("select jobforge_enqueue_job($1, 'a', p_dedupe_key => 'k')", [T]);
    const { exitCode, stdout } = await run(["jobs", "retry", "--type", "a", "--yes"], {
      DATABASE_URL: db.url,
    });
    expect(exitCode).toBe(1);
    expect(stdout).toContain("0 jobs queued again. Not changed: 1 job");
  });
});

describe("jobforge dead", () => {
  interface Groups {
    readonly items: readonly {
      errorGroup: string;
      type: string;
      jobs: number;
      tenantIds: string[];
      message: string;
    }[];
    readonly cursor: null;
  }

  async function broken(db: TestDatabase): Promise<Groups["items"]> {
    await enqueueMany(db, "a", 2);
    await failAll(db, "a", "Timeout after 20 ms");
    await enqueueMany(db, "a", 1, U);
    await failAll(db, "a", "Timeout after 300 ms");
    await enqueueMany(db, "a", 1);
    await failAll(db, "a", "No such address");
    return (await json<Groups>(["dead", "list"], db.url)).items;
  }

  test("lists failures by kind of error, the largest group first", async ({ db }) => {
    expect(await broken(db)).toMatchObject([
      { type: "a", jobs: 3, tenantIds: [T, U], message: "Timeout after 300 ms" },
      { type: "a", jobs: 1, tenantIds: [T], message: "No such address" },
    ]);
    const { stdout } = await run(["dead", "list"], { DATABASE_URL: db.url });
    const [header, first] = stdout.split("\n");
    expect(header?.split(/ +/)).toEqual(["group", "jobs", "tenants", "type", "first", "last", "error"]);
    expect(first).toMatch(/^[0-9a-f]{12} +3 +2 +a .* Timeout after 300 ms$/);
    expect(await json(["dead", "list", "--error", "address", "--limit", "1"], db.url)).toMatchObject({
      items: [{ jobs: 1 }],
      cursor: null,
    });
  });

  test("says that there are no failed or dead jobs", async ({ db }) => {
    expect(await run(["dead", "list"], { DATABASE_URL: db.url })).toMatchObject({
      exitCode: 0,
      stdout: "No failed or dead jobs.\n",
    });
  });

  test("retries the jobs of a group, of all tenants, after a confirmation", async ({ db }) => {
    const [timeouts] = await broken(db);
    const args = ["dead", "retry", timeouts?.errorGroup ?? ""];
    const env = { DATABASE_URL: db.url };
    const { exitCode, stdout, stderr } = await run(args, env, { terminal: { typed: "yes\n" } });
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "3 jobs queued again.\n" });
    expect(stderr).toContain("This retries 3 jobs of 2 tenants.");
    expect(await statuses(db)).toEqual({ failed: 1, queued: 3 });
    expect(await run(args, env)).toMatchObject({ exitCode: 4 });
    const nothing = await run(["dead", "retry"], env);
    expect(nothing).toMatchObject({ exitCode: 2 });
    expect(nothing.stderr).toContain("Pass a group of jobs, filters");
  });

  test("deletes the jobs of a group, and no others", async ({ db }) => {
    const [timeouts] = await broken(db);
    const args = ["dead", "purge", timeouts?.errorGroup ?? ""];
    expect(await run(args, { DATABASE_URL: db.url })).toMatchObject({ exitCode: 2, stdout: "" });
    expect(await json([...args, "--tenant", U, "--yes"], db.url)).toEqual({
      matched: 1,
      changed: 1,
      tenants: 1,
    });
    expect(await json([...args, "--yes"], db.url)).toEqual({ matched: 2, changed: 2, tenants: 1 });
    expect(await db.query("select last_error from jobforge_jobs")).toEqual([
      { last_error: "No such address" },
    ]);
  });

  test("is for failed and dead jobs only", async ({ db }) => {
    for (const args of [
      ["dead", "purge", "--yes"],
      ["dead", "purge", "--status", "succeeded", "--yes"],
    ])
      expect(await run(args, { DATABASE_URL: db.url })).toMatchObject({ exitCode: 2, stdout: "" });
  });
});
