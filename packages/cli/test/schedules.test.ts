/** Tests of jobforge schedules. */
import { describe, expect } from "vitest";
import { json, run, T, test, U } from "./support.ts";

const weekly = ["report.build", "weekly"];
const cron = ["--cron", "0 9 * * mon", "--timezone", "Europe/Berlin"];

describe("jobforge schedules", () => {
  test("add creates a schedule, finds it unchanged, and updates it", async ({ db }) => {
    const env = { DATABASE_URL: db.url };
    const made = await run(["schedules", "add", ...weekly, ...cron], env, { terminal: {} });
    expect(made).toMatchObject({ exitCode: 0, stderr: "" });
    expect(made.stdout).toContain("\u001b[32mcreated\u001b[39m; next run in ");
    expect(await json(["schedules", "add", ...weekly, ...cron], db.url)).toMatchObject({
      outcome: "existing",
      kind: "cron",
      cron: "0 9 * * mon",
      timezone: "Europe/Berlin",
      enabled: true,
    });
    const payload = '{"feed": 1, "password": "secret"}';
    await db.query(`select jobforge_set_policy('feed', '{"redact": ["password"]}')`);
    const options = ["--every", "15m", "--tenant", T, "--overlap", "queue", "--missed", "skip"];
    const args = [
      "schedules",
      "add",
      "feed",
      "1",
      ...options,
      "--payload",
      payload,
      "--retry-runs",
      "--disabled",
    ];
    expect(await json(args, db.url)).toMatchObject({
      outcome: "created",
      tenantId: T,
      every: "00:15:00",
      overlap: "queue",
      missed: "skip",
      retryRuns: true,
      enabled: false,
      payload: { feed: 1, password: "[redacted]" },
    });
    expect(await db.value("select payload ->> 'password' from jobforge_schedules where key = '1'")).toBe(
      "secret",
    );
    expect(await json(["schedules", "add", "feed", "1", "--dynamic", "--tenant", T], db.url)).toMatchObject({
      outcome: "updated",
      kind: "dynamic",
    });
  });

  test("list shows schedules by filters and page by page", async ({ db }) => {
    const env = { DATABASE_URL: db.url };
    expect(await run(["schedules", "list"], env)).toMatchObject({ stdout: "No schedules.\n" });
    await json(["schedules", "add", ...weekly, ...cron], db.url);
    await json(["schedules", "add", "feed", "1", "--dynamic", "--tenant", T], db.url);
    await json(["schedules", "add", "feed", "2", "--every", "1h", "--tenant", T, "--disabled"], db.url);
    await db.query(
      `select jobforge_complete_job(id, 'w', 'failed', '{"message": "503"}') from jobforge_claim_jobs('w', 10, array['feed'])`,
    );
    const keys = async (...filters: string[]): Promise<string[]> => {
      const list = await json<{ items: { key: string }[] }>(["schedules", "list", ...filters], db.url);
      return list.items.map(({ key }) => key);
    };
    expect(await keys()).toEqual(["weekly", "1", "2"]);
    expect(await keys("--tenant", T)).toEqual(["1", "2"]);
    expect(await keys("--type", "report.build,other")).toEqual(["weekly"]);
    expect(await keys("--enabled")).toEqual(["weekly", "1"]);
    expect(await keys("--disabled")).toEqual(["2"]);
    expect(await keys("--failing")).toEqual(["1"]);
    const { cursor } = await json<{ cursor: string }>(["schedules", "list", "--limit", "2"], db.url);
    expect(await keys("--limit", "2", "--cursor", cursor)).toEqual(["2"]);
    expect(await run(["schedules", "list", "--enabled", "--disabled"], env)).toMatchObject({ exitCode: 2 });
    const { stdout } = await run(["schedules", "list"], env, { terminal: { columns: 160 } });
    expect(stdout).toMatch(/report\.build +weekly +0 9 \* \* mon Europe\/Berlin +in /);
    expect(stdout).toMatch(/feed +1 +dynamic .*failed × 1.*503/);
    expect(stdout).toMatch(/feed +2 +every 1h .*disabled/);
    expect(stdout).toContain("\u001b[31m");
  });

  test("disable, enable and run steer one schedule", async ({ db }) => {
    const env = { DATABASE_URL: db.url };
    await json(["schedules", "add", ...weekly, ...cron, "--tenant", T], db.url);
    const one = [...weekly, "--tenant", T];
    expect(await run(["schedules", "disable", ...one], env)).toMatchObject({
      exitCode: 0,
      stdout: "report.build weekly: disabled.\n",
    });
    expect(await json(["schedules", "next", ...one], db.url)).toEqual({ items: [], cursor: null });
    expect(await json(["schedules", "enable", ...one], db.url)).toMatchObject({ enabled: true });
    expect((await run(["schedules", "enable", ...one], env, { terminal: {} })).stdout).toContain(
      "next run in ",
    );
    expect(await run(["schedules", "run", ...one], env)).toMatchObject({
      exitCode: 0,
      stdout: "report.build weekly: run requested.\n",
    });
    expect(await db.value("select count(*)::int from jobforge_claim_jobs('w')")).toBe(1);
  });

  test("show has the state of a schedule and its last runs", async ({ db }) => {
    const env = { DATABASE_URL: db.url };
    await db.query("select jobforge_set_tenant(jobforge_tenant_id('org_1'), '{\"label\": \"org_1\"}')");
    await run(["schedules", "add", "feed", "1", "--every", "90m", "--tenant", "org_1"], env);
    const { id } = (await db.query<{ id: string }>("select id from jobforge_claim_jobs('w')"))[0] ?? {};
    await db.query("select jobforge_complete_job($1, 'w', 'failed', '{\"message\": \"gone\"}')", [id]);
    const { stdout } = await run(["schedules", "show", "feed", "1", "--tenant", "org_1"], env);
    expect(stdout).toMatch(/^feed 1\nid .*\ntenant +org_1 \(/);
    expect(stdout).toMatch(/^runs +every 1h30m$/m);
    expect(stdout).toMatch(/^ended +failed × 1\nerror +gone$/m);
    expect(stdout).toContain(id);
    const found = await json(["schedules", "show", "feed", "1", "--tenant", "org_1"], db.url);
    expect(found).toMatchObject({ key: "1", tenantLabel: "org_1", runs: [{ id, scheduleKey: "1" }] });
  });

  test("delete removes one schedule", async ({ db }) => {
    const env = { DATABASE_URL: db.url };
    for (const key of ["weekly", "other"])
      await json(["schedules", "add", "report.build", key, ...cron], db.url);
    expect(await run(["schedules", "delete", ...weekly], env)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("This deletes the schedule report.build weekly."),
    });
    expect(await run(["schedules", "delete", ...weekly, "--yes"], env)).toEqual({
      exitCode: 0,
      stdout: "report.build weekly: deleted.\n",
      stderr: "",
    });
    expect(await db.query("select key from jobforge_schedules")).toEqual([{ key: "other" }]);
    expect(await json(["schedules", "delete", "report.build", "other", "--yes"], db.url)).toMatchObject({
      key: "other",
      deleted: true,
    });
    expect(await run(["schedules", "delete", ...weekly], env)).toMatchObject({ exitCode: 4, stdout: "" });
  });

  test("list finds and orders schedules by what they do", async ({ db }) => {
    const env = { DATABASE_URL: db.url };
    const settings = ["--tag", "paid,eu", "--subject", "ada", "--priority", "7", "--max-attempts", "3"];
    await json(["schedules", "add", "feed", "a-1", "--dynamic", "--first-run", "5m", ...settings], db.url);
    await json(["schedules", "add", "feed", "b-1", "--every", "1h", "--starts-at", "1m"], db.url);
    const later = db.urlAt("10 minutes");
    const keys = async (...options: string[]): Promise<string[]> => {
      const list = await json<{ items: { key: string }[] }>(["schedules", "list", ...options], later);
      return list.items.map(({ key }) => key);
    };
    expect(await keys("--order", "next_run_at")).toEqual(["b-1", "a-1"]);
    expect(await keys("--due")).toEqual(["a-1", "b-1"]);
    expect(await keys("--overdue", "--tag", "eu", "--tag", "paid", "--subject", "ada")).toEqual(["a-1"]);
    expect(await keys("--key-prefix", "b-")).toEqual(["b-1"]);
    expect(await keys("--running")).toEqual([]);
    expect(await json(["schedules", "show", "feed", "a-1"], db.url)).toMatchObject({
      ...{ priority: 7, maxAttempts: 3, tags: ["paid", "eu"], subject: "ada" },
    });
    expect(await json(["schedules", "count"], later)).toMatchObject({
      items: [{ type: "feed", schedules: 2, enabled: 2, due: 2, overdue: 2, running: 0, failing: 0 }],
    });
    expect((await run(["schedules", "count"], env)).stdout).toMatch(/^feed +2 +2 +0 +0 +0 +0$/m);
    expect(await run(["schedules", "list", "--order", "time"], env)).toMatchObject({ exitCode: 2 });
  });

  test("update changes what is given, and add can leave a schedule as it is", async ({ db }) => {
    const env = { DATABASE_URL: db.url };
    const feed = ["feed", "1"];
    await json(
      ["schedules", "add", ...feed, "--dynamic", "--payload", '{"url": "u", "force": false}'],
      db.url,
    );
    await db.query(
      `select jobforge_complete_job(id, 'w', 'failed', '{"message": "503"}') from jobforge_claim_jobs('w')`,
    );
    const changes = ["--merge-payload", '{"force": true}', "--reset-failures", "--next", "2h"];
    const updated = await run(["schedules", "update", ...feed, ...changes], env);
    expect(updated).toMatchObject({ exitCode: 0, stderr: "" });
    expect(updated.stdout).toMatch(/^feed 1 updated; next run in (2h|1h 59m)/);
    const kept = await json(["schedules", "add", ...feed, "--every", "1h", "--if-missing"], db.url);
    expect(kept).toMatchObject({
      ...{ kind: "dynamic", payload: { url: "u", force: true }, consecutiveFailures: 0 },
      ...{ outcome: "existing", lastError: null },
    });
    const other = ["--every", "2h", "--tag", "slow", "--next", "none", "--payload", "{}"];
    expect(await json(["schedules", "update", ...feed, ...other], db.url)).toMatchObject({
      ...{ kind: "every", every: "02:00:00", tags: ["slow"], payload: {}, nextRunAt: null },
    });
    for (const wrong of [[], ["--every", "5"], ["--merge-payload", "[1]"], ["--next", "soon"]])
      expect([wrong, await run(["schedules", "update", ...feed, ...wrong], env)]).toMatchObject([
        wrong,
        { exitCode: 2, stdout: "" },
      ]);
    expect(await run(["schedules", "update", "feed", "2", "--next", "1h"], env)).toMatchObject({
      exitCode: 4,
    });
  });

  test("delete removes the schedules of a tenant that match filters", async ({ db }) => {
    const env = { DATABASE_URL: db.url };
    for (const key of ["1", "2", "3"])
      await json(["schedules", "add", "feed", key, "--every", "1h", "--tenant", T, "--disabled"], db.url);
    await json(["schedules", "enable", "feed", "3", "--tenant", T], db.url);
    await json(["schedules", "add", "feed", "1", "--every", "1h", "--disabled"], db.url);
    const args = ["schedules", "delete", "--disabled", "--tenant", T];
    const asked = await run(args, env);
    expect(asked).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("This deletes 2 schedules."),
    });
    expect(await run([...args, "--yes"], env)).toEqual({
      ...{ exitCode: 0, stdout: "2 schedules deleted.\n", stderr: "" },
    });
    expect(await json([...args, "--yes"], db.url)).toEqual({ matched: 0, changed: 0 });
    expect(await db.query("select key from jobforge_schedules order by tenant_id, key")).toEqual([
      { key: "1" },
      { key: "3" },
    ]);
    for (const wrong of [[], ["feed"], ["feed", "1", "--disabled"], ["--tenant", T]])
      expect(await run(["schedules", "delete", ...wrong, "--yes"], env)).toMatchObject({ exitCode: 2 });
  });

  test("an interval without a unit is refused with the help of this command", async ({ db }) => {
    expect(await run(["schedules", "add", ...weekly, "--every", "5"], { DATABASE_URL: db.url })).toEqual({
      exitCode: 2,
      stdout: "",
      stderr: [
        '--every "5" has no unit. Use a form such as 90s, 15m, 1h30m or 1d.',
        "Run jobforge schedules add --help.",
        "",
      ].join("\n"),
    });
  });

  test("next shows the next runs of a schedule or an expression", async ({ db }) => {
    const env = { DATABASE_URL: db.url };
    const expression = ["schedules", "next", "--cron", "0 12 1 1 *", "--count", "3"];
    const yearly = await json<{ items: string[] }>(expression, db.url);
    expect(yearly.items).toHaveLength(3);
    for (const at of yearly.items) expect(at).toMatch(/^\d{4}-01-01T12:00:00\.000Z$/);
    const { stdout } = await run(expression, env, { terminal: {} });
    expect(stdout.trim().split("\n")).toHaveLength(3);
    expect(stdout).toMatch(/^\d{4}-01-01T12:00:00\.000Z {2}in \d+d/);
    await json(["schedules", "add", "party", "new year", "--cron", "0 12 1 1 *"], db.url);
    expect(await json(["schedules", "next", "party", "new year", "--count", "3"], db.url)).toEqual({
      ...yearly,
      cursor: null,
    });
    await db.query(
      "select jobforge_update_schedule(tenant_id, type, key, jsonb_build_object('ends_at', $1::text)) from jobforge_schedules",
      [yearly.items[1]],
    );
    const two = await json<{ items: string[] }>(["schedules", "next", "party", "new year"], db.url);
    expect(two.items).toEqual(yearly.items.slice(0, 2));
    await json(["schedules", "add", "tick", "often", "--every", "1h"], db.url);
    const often = await json<{ items: string[] }>(["schedules", "next", "tick", "often"], db.url);
    expect(often.items).toHaveLength(1);
  });

  test("a schedule that does not exist is created with this command", async ({ db }) => {
    const { exitCode, stderr } = await run(["schedules", "disable", ...weekly], { DATABASE_URL: db.url });
    expect(exitCode).toBe(4);
    expect(stderr).toContain("Create it with jobforge schedules add.");
  });

  test("a forgotten tenant is named", async ({ db }) => {
    const env = { DATABASE_URL: db.url };
    const commands = ["enable", "disable", "run", "next", "delete", "show", "update"];
    const hints = async (...more: readonly string[]): Promise<ReadonlySet<string | undefined>> => {
      const seen = new Set<string | undefined>();
      for (const name of commands) {
        const change = name === "update" ? ["--next", "0s"] : [];
        const { exitCode, stderr } = await run(["schedules", name, ...weekly, ...change, ...more], env);
        expect(exitCode).toBe(4);
        expect(stderr).toMatch(/no schedule .*weekly/);
        seen.add(stderr.split("\n")[1]);
      }
      return seen;
    };
    await json(["schedules", "add", ...weekly, ...cron, "--tenant", T], db.url);
    await json(["schedules", "add", "report.build", "weekly-2", ...cron, "--tenant", U], db.url);
    expect([...(await hints())]).toEqual([`Another tenant has one. Pass --tenant ${T}.`]);
    await json(["schedules", "add", ...weekly, ...cron, "--tenant", U], db.url);
    await run(["tenants", "set", T, "--label", "org_1"], env);
    expect([...(await hints())]).toEqual([
      `2 other tenants have one. Pass --tenant ${T} (org_1), for example.`,
    ]);
    const { stdout } = await run(["schedules", "list"], env);
    expect(stdout).toMatch(/ {2}org_1$/m);
    expect(stdout).toMatch(new RegExp(` {2}${U}$`, "m"));
    const third = "33333333-3333-4333-8333-333333333333";
    await json(["schedules", "add", "report.build", "daily", ...cron], db.url);
    const { stderr } = await run(["schedules", "show", "report.build", "daily", "--tenant", third], env);
    expect(stderr).toContain("Another tenant has one. Leave out --tenant.");
  });

  test("the exit code tells wrong usage from a missing schedule", async ({ db }) => {
    const env = { DATABASE_URL: db.url };
    for (const args of [
      ["add", ...weekly],
      ["add", ...weekly, "--cron", "* * * * *", "--every", "1h"],
      ["add", ...weekly, "--every", "1h", "--timezone", "UTC"],
      ["add", ...weekly, "--every", "1h", "--payload", "{"],
      ["add", ...weekly, "--cron", "every monday"],
      ["add", ...weekly, "--every", "1h", "--overlap", "perhaps"],
      ["add", ...weekly, "--every", "5"],
      ["add", ...weekly, "--every", "1.5 "],
      ["next", "report.build"],
      ["next", ...weekly, "--cron", "* * * * *"],
      ["next", "--cron", "0 0 30 2 *"],
    ])
      expect([args, await run(["schedules", ...args], env)]).toMatchObject([
        args,
        { exitCode: 2, stdout: "" },
      ]);
    for (const name of ["enable", "disable", "run", "next", "delete", "show"])
      expect(await run(["schedules", name, ...weekly], env)).toMatchObject({ exitCode: 4, stdout: "" });
  });
});
