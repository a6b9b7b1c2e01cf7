import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { json, run, T, test } from "./support.ts";

/** Creates a due and a scheduled mail, a failed report, and a worker for mails. */
async function populate(db: TestDatabase): Promise<void> {
  await db.query("select jobforge_enqueue_job($1, 'report.build')", [T]);
  await db.query(
    `select jobforge_complete_job(id, 'w', 'failed', '{"message": "boom"}', p_retry => false) from jobforge_claim_jobs('w')`,
  );
  await db.query("select jobforge_enqueue_job($1, 'mail.send')", [T]);
  await db.query("select jobforge_enqueue_job($1, 'mail.send', p_run_at => now() + interval '1 hour')", [T]);
  await db.query(
    `select jobforge_heartbeat_worker('w1', '{"types": ["mail.send"], "concurrency": 10, "version": "9.9.9"}')`,
  );
}

describe("jobforge types", () => {
  test("lists types with their numbers", async ({ db }) => {
    await populate(db);
    expect(await json(["types", "list"], db.url)).toMatchObject({
      items: [
        { type: "mail.send", due: 1, scheduled: 1, running: 0, workers: 1 },
        { type: "report.build", due: 0, failed: 1, workers: 0 },
      ],
      cursor: null,
    });
    const { stdout } = await run(["types", "list", "--span", "1d"], { DATABASE_URL: db.url });
    const [header, mails] = stdout.split("\n");
    expect(header?.trim().split(/ +/).slice(0, 4)).toEqual(["type", "due", "scheduled", "running"]);
    expect(mails?.trim().split(/ +/).slice(0, 4)).toEqual(["mail.send", "1", "1", "0"]);
    const coloured = await run(["types", "list"], { DATABASE_URL: db.url }, { terminal: {} });
    expect(coloured.stdout).toContain("\u001b[31m");
    expect(await run(["types", "list", "--span", "8d"], { DATABASE_URL: db.url })).toMatchObject({
      exitCode: 2,
    });
  });

  test("shows one type with its policy", async ({ db }) => {
    await populate(db);
    await db.query(
      `select jobforge_set_policy('mail.send', '{"max_attempts": 3, "base_ms": 5000, "timeout_ms": 60000}')`,
    );
    const { exitCode, stdout } = await run(["types", "show", "mail.send"], { DATABASE_URL: db.url });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^retries +3 executions, 5s × 2 each time up to 1h$/m);
    expect(stdout).toMatch(/^timeout +1m$/m);
    expect(stdout).toMatch(/^policy +its own$/m);
    expect(await json(["types", "show", "report.build"], db.url)).toMatchObject({
      type: "report.build",
      hasPolicy: false,
      policy: { type: "*", maxAttempts: 5 },
    });
    expect(await run(["types", "show", "nothing"], { DATABASE_URL: db.url })).toMatchObject({ exitCode: 4 });
  });

  test("says that there are no types", async ({ db }) => {
    expect(await run(["types", "list"], { DATABASE_URL: db.url })).toMatchObject({
      stdout: "No types yet.\n",
    });
  });
});

describe("jobforge workers", () => {
  test("keeps the names of workers whole in a terminal of 80 columns", async ({ db }) => {
    const about = { types: ["mail.receipt", "report.build", "connector.http.request"], version: "1.2.3" };
    await db.query("select jobforge_heartbeat_worker('host-12345-0ce2abd6', $1)", [JSON.stringify(about)]);
    const { stdout } = await run(["workers"], { DATABASE_URL: db.url }, { terminal: { columns: 80 } });
    expect(stdout).toMatch(/host-12345-0ce2abd6 .*mail\.receipt, report\.bui/);
  });
});

describe("jobforge stats", () => {
  test("shows the totals", async ({ db }) => {
    await populate(db);
    await db.query("select jobforge_set_gate('type', 'mail.send', true)");
    const { exitCode, stdout } = await run(["stats"], { DATABASE_URL: db.url });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^now +1 due, the oldest .*; 1 scheduled; 0 running$/m);
    expect(stdout).toMatch(/^last 1h +0 succeeded; 1 failed or dead; 0 canceled$/m);
    expect(stdout).toMatch(/^workers +1 worker alive with 10 slots$/m);
    expect(stdout).toMatch(/^paused +type mail\.send \(1 waiting\)$/m);
    expect(await json(["stats"], db.url)).toMatchObject({
      spanMs: 3_600_000,
      due: 1,
      scheduled: 1,
      running: 0,
      failed: 1,
      workersAlive: 1,
      paused: [{ scope: "type", key: "mail.send", waiting: 1, exact: true }],
      types: [{ type: "mail.send" }, { type: "report.build" }],
    });
    const coloured = await run(["stats"], { DATABASE_URL: db.url }, { terminal: {} });
    expect(coloured.stdout).toContain("\u001b[33mpaused");
  });

  test("shows schedules that are overdue, also of types without jobs", async ({ db }) => {
    for (const key of ["a", "b"])
      await db.query(
        `select jobforge_ensure_schedule($1, 'report.weekly', $2,
           jsonb_build_object('dynamic', true, 'next_run_at', now() - interval '1 hour'))`,
        [T, key],
      );
    const { stdout } = await run(["stats"], { DATABASE_URL: db.url });
    expect(stdout).toMatch(/^ +2 schedules overdue$/m);
    expect(stdout).toMatch(/^report\.weekly +0 .* 2 schedules overdue$/m);
    expect(await json(["stats"], db.url)).toMatchObject({ due: 0, dueSchedules: 2 });
    const types = await run(["types", "list"], { DATABASE_URL: db.url }, { terminal: { columns: 120 } });
    expect(types.stdout).toContain("2 schedules overdue");
  });

  test("the help shows time spans, not milliseconds", async () => {
    for (const args of [["stats"], ["types", "list"], ["jobs", "tail"], ["usage"]])
      expect((await run([...args, "--help"])).stdout).not.toMatch(/default: \d{4,}/);
    expect((await run(["stats", "--help"])).stdout).toMatch(/\(default:\s+1h\)/);
  });

  test("jobforge_reader may read it", async ({ db }) => {
    const { url } = await db.createLogin("jobforge_reader");
    expect(await json(["stats"], url)).toMatchObject({ due: 0, oldestDueAt: null });
  });
});

test("estimates are marked, and running jobs are counted", async ({ db }) => {
  await db.query(
    `select jobforge_enqueue_jobs($1, (select jsonb_agg(jsonb_build_object('type', 'many')) from generate_series(1, 40000)))
     from generate_series(1, 3)`,
    [T],
  );
  await db.query("select count(*) from jobforge_claim_jobs('w', 7)");
  await db.query("select jobforge_set_gate('type', 'many', true)");
  const { stdout } = await run(["stats"], { DATABASE_URL: db.url });
  expect(stdout).toMatch(/^now +~[\d,]+ due, the oldest .*; ~0 scheduled; 7 running$/m);
  expect(stdout).toMatch(/^paused +type many \(~[\d,]+ waiting\)$/m);
  expect(stdout).toMatch(/^many +~[\d,]+ +~0 +7 /m);
  expect(await json(["stats"], db.url)).toMatchObject({ running: 7, exact: false });
});

describe("jobforge workers", () => {
  test("lists all workers, or only those that are alive", async ({ db }) => {
    await populate(db);
    await db.travel("-1 hour");
    await db.query("select jobforge_heartbeat_worker('old')");
    const listed = await json<{ items: { id: string; status: string }[] }>(["workers"], db.url);
    expect(listed.items.map(({ id, status }) => `${id} ${status}`)).toEqual(["w1 alive", "old gone"]);
    expect(await json(["workers", "--alive"], db.url)).toMatchObject({ items: [{ id: "w1" }], cursor: null });
    expect(await json(["workers", "--alive", "--id", "w1"], db.url)).toMatchObject({ items: [{ id: "w1" }] });
    expect(await run(["workers", "--alive", "--id", "old"], { DATABASE_URL: db.url })).toMatchObject({
      exitCode: 4,
    });
    const { stdout } = await run(["workers"], { DATABASE_URL: db.url }, { terminal: {} });
    expect(stdout).toContain("\u001b[32malive");
    expect(stdout).toContain("\u001b[31mgone");
    expect((await run(["workers"], { DATABASE_URL: db.url })).stdout).toMatch(
      /^w1 +alive .* 0\/10 +9\.9\.9 +mail\.send$/m,
    );
  });

  test("says that there are no workers", async ({ db }) => {
    expect(await run(["workers"], { DATABASE_URL: db.url })).toMatchObject({
      exitCode: 0,
      stdout: "No workers.\n",
    });
  });
});

describe("jobforge gates", () => {
  test("pauses a type, lists it, and resumes it", async ({ db }) => {
    const env = { DATABASE_URL: db.url };
    expect(
      await run(["gates", "pause", "--type", "mail.send", "--reason", "down", "--until", "2h"], env),
    ).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^Type mail\.send is paused until 2/),
    });
    expect(await json(["gates", "list"], db.url)).toMatchObject({
      items: [{ scope: "type", key: "mail.send", reason: "down" }],
      cursor: null,
    });
    expect((await run(["gates", "list"], env, { terminal: {} })).stdout).toContain("mail.send");
    expect(await json(["gates", "resume", "--type", "mail.send"], db.url)).toMatchObject({
      scope: "type",
      key: "mail.send",
      paused: false,
      wasPaused: true,
    });
    expect(await run(["gates", "list"], env)).toMatchObject({ exitCode: 0, stdout: "Nothing is paused.\n" });
  });

  test("pauses a tenant", async ({ db }) => {
    expect(await json(["gates", "pause", "--tenant", T], db.url)).toEqual({
      scope: "tenant",
      key: T,
      paused: true,
      reason: null,
      until: null,
      wasPaused: false,
      known: false,
      auditId: expect.any(Number),
    });
  });

  test("resuming what is not paused ends with 4 and says what is paused", async ({ db }) => {
    const env = { DATABASE_URL: db.url };
    await run(["gates", "pause", "--type", "mail.send"], env);
    expect(await run(["gates", "resume", "--type", "mail.sned"], env)).toEqual({
      exitCode: 4,
      stdout: "",
      stderr: "Type mail.sned is not paused.\nPaused now: type mail.send.\n",
    });
    expect(await run(["gates", "resume", "--type", "mail.send"], env)).toMatchObject({ exitCode: 0 });
    expect(await run(["gates", "resume", "--type", "mail.send"], env)).toMatchObject({
      exitCode: 4,
      stderr: "Type mail.send is not paused.\nNothing is paused.\n",
    });
    await run(["gates", "pause", "--type", "mail.send"], env);
    await run(["gates", "pause", "--all", "--yes"], env);
    expect((await run(["gates", "resume", "--type", "mail.send"], env)).stderr).toContain(
      "Everything is still paused",
    );
  });

  test("pausing what is not known says so, and pauses it", async ({ db }) => {
    const env = { DATABASE_URL: db.url };
    const unknown = await run(["gates", "pause", "--type", "mail.sned"], env);
    expect(unknown).toMatchObject({ exitCode: 0, stdout: "Type mail.sned is paused.\n" });
    expect(unknown.stderr).toContain("No job, schedule, policy or worker has the type mail.sned.");
    await populate(db);
    expect(await run(["gates", "pause", "--type", "mail.send"], env)).toMatchObject({ stderr: "" });
    expect((await run(["gates", "pause", "--type", "mail.send"], env)).stderr).toContain(
      "It was paused before",
    );
  });

  test("asks before it pauses everything", async ({ db }) => {
    await populate(db);
    const env = { DATABASE_URL: db.url };
    const declined = await run(["gates", "pause", "--all"], env, { terminal: { typed: "\n" } });
    expect(declined).toMatchObject({ exitCode: 1 });
    expect(declined.stderr).toContain("This pauses every type of every tenant; 1 job is due or running.");
    expect(await run(["gates", "pause", "--all"], env)).toMatchObject({ exitCode: 2 });
    expect(await json(["gates", "list"], db.url)).toMatchObject({ items: [] });
    expect(await run(["gates", "pause", "--all", "--yes"], env)).toMatchObject({
      stdout: "Everything is paused.\n",
    });
    expect(await run(["gates", "resume", "--all"], env)).toMatchObject({
      stdout: "Everything is no longer paused.\n",
    });
  });

  test("needs exactly one scope", async ({ db }) => {
    for (const args of [
      ["gates", "pause"],
      ["gates", "resume"],
      ["gates", "pause", "--type", "a", "--tenant", T],
    ])
      expect(await run(args, { DATABASE_URL: db.url })).toMatchObject({ exitCode: 2, stdout: "" });
    const past = await run(["gates", "pause", "--type", "a", "--until", "2020-01-01"], {
      DATABASE_URL: db.url,
    });
    expect(past).toMatchObject({ exitCode: 2 });
  });
});
