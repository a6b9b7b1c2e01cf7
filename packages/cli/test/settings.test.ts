/** Tests of jobforge limits and jobforge policies. */
import { tenantId } from "@jobforge/sdk-ts";
import { describe, expect } from "vitest";
import { defaultTimeoutMs } from "../../worker-ts/src/defaults.ts";
import { workerDefaultTimeoutMs } from "../src/output/policy.ts";
import { json, run, T, test, U } from "./support.ts";

describe("jobforge limits", () => {
  test.for<readonly [scope: string[], stored: string, text: string]>([
    [["--type", "mail.send"], "type mail.send", "Type mail.send"],
    [["--tenant", T], `tenant ${T}`, `Tenant ${T}`],
    [["--type", "mail.send", "--tenant", T], `type_tenant mail.send:${T}`, `Type mail.send of tenant ${T}`],
    [["--type", "mail.send", "--tenant", "*"], "type_tenant mail.send:*", "Type mail.send of each tenant"],
    [["--tenant", "*"], "tenant *", "Each tenant"],
    [["--key", "account-1"], "key account-1", "Concurrency key account-1"],
  ])("set, list and delete the limit of %j", async ([scope, stored, text], { db }) => {
    const env = { DATABASE_URL: db.url };
    await run(["enqueue", "mail.send", "--tenant", T], env);
    expect(await run(["limits", "set", ...scope, "--max-running", "5"], env)).toEqual({
      exitCode: 0,
      stdout: `${text}: at most 5 running at once.\n`,
      stderr: "",
    });
    const [is, key] = stored.split(" ");
    expect(await json(["limits", "list", ...scope], db.url)).toMatchObject({
      items: [{ scope: is, key, maxRunning: 5 }],
      cursor: null,
    });
    expect(await run(["limits", "delete", ...scope], env)).toMatchObject({
      exitCode: 0,
      stdout: `${text}: limit deleted.\n`,
    });
    expect(await run(["limits", "delete", ...scope], env)).toMatchObject({ exitCode: 4, stdout: "" });
    expect(await run(["limits", "list"], env)).toMatchObject({ stdout: "No limits.\n" });
  });

  test.for<readonly [scope: string[], remark: string]>([
    [["--type", "mail.sned"], "No job, schedule, policy or worker has the type mail.sned."],
    [["--tenant", U], `The tenant ${U} has no jobs, schedules or settings.`],
    [["--type", "mail.send", "--tenant", U], "Check both names."],
  ])("a limit of %j, which nothing has, is set with a remark", async ([scope, remark], { db }) => {
    const env = { DATABASE_URL: db.url };
    await run(["enqueue", "mail.send", "--tenant", T], env);
    const { exitCode, stderr } = await run(["limits", "set", ...scope, "--max-running", "5"], env);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.stringContaining(remark) });
    expect((await json(["limits", "list"], db.url))["items"]).toHaveLength(1);
  });

  test("a limit may be a rate, and is replaced as a whole", async ({ db }) => {
    const set = ["limits", "set", "--type", "a"];
    expect(await json([...set, "--rate", "100", "--per", "90s", "--burst", "20"], db.url)).toMatchObject({
      rate: 100,
      per: "00:01:30",
      burst: 20,
    });
    const { stdout } = await run([...set, "--max-running", "2", "--rate", "7", "--per", "1m"], {
      DATABASE_URL: db.url,
    });
    expect(stdout).toBe("Type a: at most 2 running at once; at most 7 per 1m.\n");
    expect((await run(["limits", "list"], { DATABASE_URL: db.url })).stdout).toMatch(
      /^type +a +2 +7 per 1m /m,
    );
    expect(await run([...set, "--unlimited"], { DATABASE_URL: db.url })).toMatchObject({
      stdout: "Type a: no limit.\n",
    });
  });

  test("the list comes in pages", async ({ db }) => {
    for (const type of ["a", "b", "c"])
      await json(["limits", "set", "--type", type, "--max-running", "1"], db.url);
    const first = await json<{ items: { key: string }[]; cursor: string }>(
      ["limits", "list", "--limit", "2"],
      db.url,
    );
    expect(first.items.map(({ key }) => key)).toEqual(["a", "b"]);
    const rest = await json(["limits", "list", "--limit", "2", "--cursor", first.cursor], db.url);
    expect(rest).toMatchObject({ items: [{ key: "c" }], cursor: null });
    expect((await run(["limits", "list", "--limit", "2"], { DATABASE_URL: db.url })).stderr).toContain(
      "--cursor 2",
    );
  });

  test.for([
    ["set"],
    ["set", "--type", "a"],
    ["set", "--max-running", "5"],
    ["set", "--type", "a", "--key", "k", "--max-running", "5"],
    ["set", "--type", "*", "--tenant", T, "--max-running", "5"],
    ["set", "--type", "a", "--max-running", "-1"],
    ["set", "--type", "a", "--max-running", "5", "--unlimited"],
    ["set", "--type", "a", "--rate", "5"],
    ["set", "--type", "a", "--per", "1m", "--max-running", "1"],
    ["set", "--type", "a", "--rate", "5", "--per", "60"],
    ["set", "--type", "a", "--max-running", "5", "--burst", "3"],
    ["set", "--tenant", "11111111-1111-4111-8111", "--max-running", "5"],
    ["set", "--type", "", "--max-running", "5"],
    ["delete"],
    ["list", "--limit", "0"],
  ])("limits %j is refused", async (args, { db }) => {
    const refused = await run(["limits", ...args], { DATABASE_URL: db.url });
    expect(refused).toMatchObject({ exitCode: 2, stdout: "" });
    expect(await db.query("select * from jobforge_list_limits()")).toEqual([]);
  });
});

describe("jobforge policies", () => {
  test("list keeps the types whole in a terminal of 80 columns", async ({ db }) => {
    const env = { DATABASE_URL: db.url };
    await json(["policies", "set", "report.monthly.send", "--preset", "patient", "--timeout", "1h"], db.url);
    const { stdout } = await run(["policies", "list"], env, { terminal: { columns: 80 } });
    expect(stdout).toMatch(/report\.monthly\.send +5 executions, 30s × 2 .*… +1h/);
  });

  test("set changes what is given, show and list show it, reset removes it", async ({ db }) => {
    const env = { DATABASE_URL: db.url };
    const changes = [
      "--max-attempts",
      "10",
      "--base",
      "30s",
      "--cap",
      "none",
      "--factor",
      "1.5",
      "--timeout",
      "2m",
    ];
    expect(await json(["policies", "set", "mail.send", ...changes], db.url)).toMatchObject({
      type: "mail.send",
      maxAttempts: 10,
      baseMs: 30_000,
      capMs: null,
      factor: 1.5,
      timeoutMs: 120_000,
    });
    const more = ["--history", "90d", "--redact", "password,token", "--max-priority", "5", "--lease", "10m"];
    const set = await run(
      ["policies", "set", "mail.send", ...more, "--audit-action", "SENT", "--keep-logs", "failed"],
      env,
    );
    expect(set).toMatchObject({ exitCode: 0, stderr: "" });
    expect(set.stdout).toMatch(/^retries +10 executions, 30s × 1\.5 each time$/m);
    expect(set.stdout).toMatch(/^history +90 days$/m);
    expect(set.stdout).toMatch(/^logs +of failed runs$/m);
    expect(set.stdout).toMatch(/^redacted +password, token$/m);
    expect(await json(["policies", "show", "mail.send"], db.url)).toMatchObject({
      type: "mail.send",
      leaseMs: 600_000,
      retentionDays: 90,
      maxPriority: 5,
      redact: ["password", "token"],
      auditAction: "SENT",
    });
    const removed = ["--timeout", "none", "--history", "none", "--redact", "none", "--jitter", "0.5"];
    expect(await json(["policies", "set", "mail.send", ...removed], db.url)).toMatchObject({
      timeoutMs: null,
      keepHistory: false,
      redact: [],
      jitter: 0.5,
    });
    expect((await run(["policies", "list"], env)).stdout).toMatch(
      /^mail\.send +10 executions, .* +1h \(worker default\) +none /m,
    );
    expect(await json(["policies", "list", "--limit", "1"], db.url)).toMatchObject({
      items: [{ type: "*" }],
      cursor: "*",
    });
    expect(await json(["policies", "list", "--cursor", "*"], db.url)).toMatchObject({
      items: [{ type: "mail.send" }],
      cursor: null,
    });
    expect((await run(["policies", "reset", "mail.send"], env)).stdout).toMatch(
      /^The policy of mail\.send is reset\.\nmail\.send\npolicy +default\nretries +5 executions/,
    );
    expect(await json(["policies", "reset", "mail.send"], db.url)).toMatchObject({ reset: false });
  });

  test("* is the default policy", async ({ db }) => {
    await json(["policies", "set", "*", "--history", "14d"], db.url);
    expect(await json(["policies", "show", "*"], db.url)).toMatchObject({ type: "*", retentionDays: 14 });
    expect((await run(["policies", "show", "mail.send"], { DATABASE_URL: db.url })).stdout).toMatch(
      /^history +14 days$/m,
    );
    expect(await json(["policies", "reset", "*"], db.url)).toMatchObject({
      reset: true,
      policy: { type: "*", retentionDays: null },
    });
  });

  test.for([
    ["set", "mail.send"],
    ["set", "mail.send", "--max-attempts", "0"],
    ["set", "mail.send", "--timeout", "60"],
    ["set", "mail.send", "--preset", "nothing"],
    ["set", "mail.send", "--history", "12h"],
    ["set", "mail.send", "--factor", "two"],
    ["set", "mail.send", "--jitter", "2"],
    ["set", "mail.send", "--redact", ","],
    ["set", "", "--max-attempts", "2"],
    ["show"],
  ])("policies %j is refused", async (args, { db }) => {
    const refused = await run(["policies", ...args], { DATABASE_URL: db.url });
    expect(refused).toMatchObject({ exitCode: 2, stdout: "" });
    expect(await db.value("select count(*)::int from jobforge.policies")).toBe(1);
  });

  test("an error names the role that a login needs", async ({ db }) => {
    const { role, url } = await db.createLogin("jobforge_reader");
    const refused = await run(["policies", "set", "a", "--max-attempts", "2"], { DATABASE_URL: url });
    expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
    expect(refused.stderr).toContain(`The login ${role} needs the role jobforge_operator`);
    expect(await json(["limits", "list", "--tenant", U], url)).toEqual({ items: [], cursor: null });
  });
});

test("a policy says which timeout applies, and counts in words", async ({ db }) => {
  const { stdout } = await run(["policies", "set", "once", "--max-attempts", "1"], { DATABASE_URL: db.url });
  expect(stdout).toMatch(/^retries +1 execution, no retries$/m);
  expect(stdout).toMatch(/^timeout +1h \(worker default\)$/m);
  expect(workerDefaultTimeoutMs).toBe(defaultTimeoutMs);
});

test("lists show the labels of tenants, as text and as JSON", async ({ db }) => {
  const env = { DATABASE_URL: db.url };
  await run(["tenants", "set", "org_1", "--label", "org_1"], env);
  await run(["enqueue", "mail.send", "--tenant", "org_1"], env);
  await run(["limits", "set", "--tenant", "org_1", "--max-running", "5"], env);
  await db.query("select jobforge_complete_job(id, 'w', 'succeeded') from jobforge_claim_jobs('w')");
  await db.query("select jobforge_maintain()");
  await run(["gates", "pause", "--tenant", "org_1"], env);
  for (const args of [
    ["jobs", "list"],
    ["limits", "list"],
    ["gates", "list"],
    ["audit", "--action", "TENANT_SET"],
    ["usage", "--by", "tenant"],
  ]) {
    const { stdout } = await run(args, env);
    expect(stdout, args.join(" ")).toMatch(/tenant[^\n]*\n[^\n]*org_1/);
    expect(await json(args, db.url), args.join(" ")).toMatchObject({ items: [{ tenantLabel: "org_1" }] });
  }
});

test("groups of dead jobs and workers name their tenant by its label", async ({ db }) => {
  const env = { DATABASE_URL: db.url };
  const { role, url } = await db.createLogin("jobforge_worker");
  await db.query("select jobforge_bind_role($1, $2)", [role, tenantId("org_1")]);
  const login = await db.connect(url);
  await run(["tenants", "set", "org_1", "--label", "org_1"], env);
  await run(["enqueue", "mail.send", "--tenant", "org_1"], env);
  await login.query("select jobforge_heartbeat_worker('w')");
  await login.query(
    "select jobforge_complete_job(id, 'w', 'failed', p_retry => false) from jobforge_claim_jobs('w')",
  );
  expect((await run(["dead", "list"], env)).stdout).toMatch(/tenants[^\n]*\n[^\n]*org_1/);
  expect(await json(["dead", "list"], db.url)).toMatchObject({ items: [{ tenantLabels: ["org_1"] }] });
  expect((await run(["workers"], env)).stdout).toMatch(/tenant[^\n]*\n[^\n]*org_1/);
  expect(await json(["workers"], db.url)).toMatchObject({ items: [{ tenantLabel: "org_1" }] });
});
