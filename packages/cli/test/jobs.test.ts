import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { startJobforge } from "./child.ts";
import { temporaryFolder } from "./files.ts";
import { json, run, T, test, U } from "./support.ts";

interface Listed {
  readonly items: readonly { readonly id: string; readonly type: string; readonly payload: unknown }[];
  readonly cursor: string | null;
}

async function enqueue(db: TestDatabase, type: string, tenant = T, payload: object = {}): Promise<string> {
  return await db.value<string>("select jobforge_enqueue_job($1, $2, $3) ->> 'id'", [tenant, type, payload]);
}

async function failOnce(db: TestDatabase, type: string, message: string, retry = false): Promise<void> {
  await db.query(
    `select jobforge_complete_job(id, 'w', 'failed', jsonb_build_object('message', $2::text), p_retry => $3)
     from jobforge_claim_jobs('w', 10, array[$1])`,
    [type, message, retry],
  );
}

describe("jobforge jobs list", () => {
  test("lists the jobs of all tenants, the newest first", async ({ db }) => {
    const first = await enqueue(db, "mail.send");
    const second = await enqueue(db, "report.build", U);
    const { exitCode, stdout, stderr } = await run(["jobs", "list"], { DATABASE_URL: db.url });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const [header, ...rows] = stdout.trim().split("\n");
    expect(header?.split(/ +/)).toEqual(["id", "type", "status", "attempts", "when", "subject", "error"]);
    expect(rows.map((row) => row.split(/ +/).slice(0, 4))).toEqual([
      [second, "report.build", "queued", "0/5"],
      [first, "mail.send", "queued", "0/5"],
    ]);
  });

  test("has colours and is cut to the width in a terminal, and is plain with NO_COLOR", async ({ db }) => {
    await enqueue(db, "a.type.with.quite.a.long.name.indeed");
    const env = { DATABASE_URL: db.url };
    const coloured = await run(["jobs", "list"], env, { terminal: { columns: 80 } });
    expect(coloured.stdout).toContain("\u001b[34mqueued");
    expect(coloured.stdout).toContain("…");
    const plain = await run(["jobs", "list"], { ...env, NO_COLOR: "1" }, { terminal: { columns: 200 } });
    expect(plain.stdout).not.toContain("\u001b");
    expect(plain.stdout).toContain("a.type.with.quite.a.long.name");
    // A terminal that does not know its size, as in many containers.
    const sizeless = await run(["jobs", "list"], env, { terminal: { columns: 0 } });
    expect(sizeless.stdout).toContain("a.type.with.quite.a.long.name.indeed");
    expect(sizeless.stdout).not.toContain("…");
  });

  test("--json prints one document with items and a cursor for each page", async ({ db }) => {
    const ids = [await enqueue(db, "a"), await enqueue(db, "a"), await enqueue(db, "a")];
    const first = await json<Listed>(["jobs", "list", "--limit", "2"], db.url);
    expect(first.items.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
    expect(first.cursor).toBe(ids[1]);
    const second = await json<Listed>(
      ["jobs", "list", "--limit", "2", "--cursor", first.cursor ?? ""],
      db.url,
    );
    expect(second).toMatchObject({ items: [{ id: ids[0], subject: null }], cursor: null });
  });

  test("filters as the database does", async ({ db }) => {
    await enqueue(db, "a");
    await enqueue(db, "b", U);
    await enqueue(db, "c");
    await failOnce(db, "c", "Mailbox full");
    const types = async (...filters: string[]): Promise<string[]> =>
      (await json<Listed>(["jobs", "list", ...filters], db.url)).items.map(({ type }) => type);
    expect(await types("--tenant", U)).toEqual(["b"]);
    expect(await types("--type", "a,b")).toEqual(["b", "a"]);
    expect(await types("--status", "failed", "--status", "dead")).toEqual(["c"]);
    expect(await types("--error", "mailbox")).toEqual(["c"]);
    expect(await types("--finished-after", "1h")).toEqual(["c"]);
    expect(await types("--created-before", "1h")).toEqual([]);
    const refused = await run(["jobs", "list", "--status", "broken"], { DATABASE_URL: db.url });
    expect(refused).toMatchObject({ exitCode: 2, stdout: "" });
    expect(refused.stderr).toContain("status");
  });

  test("says that there are no jobs", async ({ db }) => {
    expect(await run(["jobs", "list"], { DATABASE_URL: db.url })).toMatchObject({
      exitCode: 0,
      stdout: "No jobs.\n",
    });
    expect(await json(["jobs", "list"], db.url)).toEqual({ items: [], cursor: null });
  });

  test("hides the keys that a policy redacts, and the whole payload from a login that may not read policies", async ({
    db,
  }) => {
    await db.query(`select jobforge_set_policy('login', '{"redact": ["token"]}')`);
    await enqueue(db, "login", T, { user: "ada", token: "s3cret", deep: [{ token: "s3cret" }] });
    const hidden = await json<Listed>(["jobs", "list"], db.url);
    expect(hidden.items[0]?.payload).toEqual({
      user: "ada",
      token: "[redacted]",
      deep: [{ token: "[redacted]" }],
    });
    const { role, url } = await db.createLogin("jobforge_tenant");
    await db.query("select jobforge_bind_role($1, $2)", [role, T]);
    const tenants = await json<Listed>(["jobs", "list", "--tenant", T], url);
    expect(tenants.items[0]?.payload).toBe("[redacted]");
  });

  test("a login that may not see all tenants gets an error", async ({ db }) => {
    const { role, url } = await db.createLogin("jobforge_tenant");
    await db.query("select jobforge_bind_role($1, $2)", [role, T]);
    const { exitCode, stderr } = await run(["jobs", "list"], { DATABASE_URL: url });
    expect(exitCode).toBe(1);
    expect(stderr).toBe(
      [
        "permission denied for function jobforge_search_jobs",
        `The login ${role} needs the role jobforge_operator: grant jobforge_operator to ${role};`,
        "",
      ].join("\n"),
    );
    const guide = new URL("../../../docs/guides/troubleshooting.md", import.meta.url);
    expect(await readFile(guide, "utf8")).toContain(stderr.replaceAll(role, "shop"));
    const shown = await run(["workers", "--json"], { DATABASE_URL: url });
    expect(JSON.parse(shown.stderr)).toMatchObject({
      error: { name: "forbidden", hint: expect.stringContaining("jobforge_operator or jobforge_reader") },
    });
  });

  test.for([80, 60, 40, 12])(
    "in %d columns no row wraps, the id is whole, and the type stays readable",
    async (columns, { db }) => {
      await db.query(
        `select jobforge_enqueue_job($1, 'mail.send', p_subject => repeat('subject ', 10)) from generate_series(1, 2)`,
        [T],
      );
      await db.query(
        `select jobforge_complete_job(id, 'w', 'failed', jsonb_build_object('message', repeat('failure ', 20)))
       from jobforge_claim_jobs('w', 1)`,
      );
      await db.query("select from jobforge_claim_jobs('w', 1)");
      const env = { DATABASE_URL: db.url, NO_COLOR: "1" };
      const { stdout } = await run(["jobs", "list"], env, { terminal: { columns } });
      const lines = stdout.trimEnd().split("\n");
      expect(lines).toHaveLength(3);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
      if (columns < 60) return;
      for (const line of lines.slice(1))
        expect(line).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12} +mail\.send +(queued|running)/);
      if (columns === 80) expect(stdout).toMatch(/ queued +failure failure fa/);
    },
  );
});

describe("jobforge jobs explain", () => {
  test("shows what blocks a job, in order", async ({ db }) => {
    const id = await enqueue(db, "mail.send");
    await db.query("select jobforge_set_gate('type', 'mail.send', true, 'The provider is down')");
    const { exitCode, stdout } = await run(["jobs", "explain", id], { DATABASE_URL: db.url });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^paused +The type was paused by .*: The provider is down$/m);
    expect(stdout).toMatch(/^no_worker +No live worker handles the type mail.send/m);
    expect(await json(["jobs", "explain", id], db.url)).toMatchObject({
      items: [
        { code: "paused", details: { reason: "The provider is down" } },
        { code: "no_worker" },
        { code: "next" },
      ],
      cursor: null,
    });
  });

  test("ends with 4 if the job does not exist", async ({ db }) => {
    const { exitCode, stderr } = await run(["jobs", "explain", U], { DATABASE_URL: db.url });
    expect(exitCode).toBe(4);
    expect(stderr).toContain("There is no job");
  });
});

describe("jobforge jobs show", () => {
  test("shows the causes of an error in one line, and then its stacks", async ({ db }) => {
    const id = await enqueue(db, "mail.send");
    const error = {
      name: "TypeError",
      message: "fetch failed",
      stack: "TypeError: fetch failed\n    at send (/app/mail.ts:3:5)",
      cause: { name: "Error", message: "refused", stack: "Error: refused\n    at connect (node:net:1:1)" },
    };
    await db.query("select jobforge_complete_job(id, 'w', 'failed', $1) from jobforge_claim_jobs('w')", [
      JSON.stringify(error),
    ]);
    const { stdout } = await run(["jobs", "show", id], { DATABASE_URL: db.url });
    expect(stdout).toMatch(/^error +fetch failed: refused$/m);
    expect(stdout).toMatch(/^ +1 +failed .*fetch failed: refused$/m);
    expect(stdout.slice(stdout.indexOf("\nlast error")).split("\n")).toEqual([
      "",
      "last error",
      "  TypeError: fetch failed",
      "      at send (/app/mail.ts:3:5)",
      "  Caused by: Error: refused",
      "      at connect (node:net:1:1)",
      "",
    ]);
    const listed = await run(["jobs", "list"], { DATABASE_URL: db.url });
    expect(listed.stdout).toContain("fetch failed: refused");
  });

  test("shows a job with its attempts and its result", async ({ db }) => {
    const id = await enqueue(db, "mail.send", T, { to: "ada" });
    await failOnce(db, "mail.send", "Mailbox full", true);
    await db.travel("1 hour");
    await db.query(
      `select jobforge_complete_job(id, 'w', 'succeeded', p_result => '{"message": 1}') from jobforge_claim_jobs('w')`,
    );
    const { exitCode, stdout } = await run(["jobs", "show", id], { DATABASE_URL: db.url });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^status +succeeded \(done\)$/m);
    expect(stdout).toMatch(/^attempts +2 of 5$/m);
    expect(stdout).toMatch(/^payload +{"to":"ada"}$/m);
    expect(stdout).toMatch(/^result +{"message":1}$/m);
    expect(stdout).toMatch(/^ +1 +failed .*Mailbox full$/m);
    expect(stdout).toMatch(/^ +2 +succeeded/m);
    expect(await json(["jobs", "show", id], db.url)).toMatchObject({
      id,
      tenantId: T,
      status: "succeeded",
      result: { message: 1 },
      attemptList: [
        { attemptNo: 1, status: "failed" },
        { attemptNo: 2, status: "succeeded" },
      ],
    });
  });

  test("attempts that do not count come on top of those that the job may have", async ({ db }) => {
    const id = await enqueue(db, "mail.send");
    await db.query(
      `select jobforge_settle_jobs('w', jsonb_agg(jsonb_build_object('id', id, 'attempt', attempts, 'status', 'released')))
       from jobforge_claim_jobs('w')`,
    );
    await failOnce(db, "mail.send", "Mailbox full", true);
    const env = { DATABASE_URL: db.url };
    expect((await run(["jobs", "show", id], env)).stdout).toMatch(/^attempts +2 of 6 \(1 not counted\)$/m);
    expect((await run(["jobs", "list"], env)).stdout).toMatch(/mail\.send +queued +2\/6 /);
  });

  test("shows what the handler logged, attempt by attempt", async ({ db }) => {
    await db.query("select jobforge_set_policy('mail.send', '{\"keep_logs\": \"all\"}')");
    const id = await enqueue(db, "mail.send");
    const line = {
      at: "2026-01-02T03:04:05.678Z",
      level: "warn",
      message: "Slow\u001b[2J",
      fields: { ms: 7 },
    };
    await db.query("select jobforge_claim_jobs('w')");
    await db.query("select jobforge_settle_jobs('w', $1)", [
      JSON.stringify([{ id, attempt: 1, status: "succeeded", logs: { lines: [line], dropped: 3 } }]),
    ]);
    const { stdout } = await run(["jobs", "show", id], { DATABASE_URL: db.url });
    const [, heading, text] = stdout.slice(stdout.indexOf("\nlog of attempt")).split("\n");
    expect(heading).toBe("log of attempt 1 (3 earlier lines not kept)");
    expect(text).toMatch(/^ {2}03:04:05\.678 warn {2}Slow\S* {"ms":7}$/);
    expect(stdout).not.toContain("\u001b");
    expect(await json(["jobs", "show", id], db.url)).toMatchObject({
      logs: [{ attemptNo: 1, dropped: 3, lines: [{ level: "warn", fields: { ms: 7 } }] }],
    });
  });

  test("has colours in a terminal", async ({ db }) => {
    const id = await enqueue(db, "mail.send");
    const { stdout } = await run(["jobs", "show", id], { DATABASE_URL: db.url }, { terminal: {} });
    expect(stdout).toContain("\u001b[34mqueued");
  });

  test("ends with 4 if the job does not exist or belongs to another tenant", async ({ db }) => {
    const id = await enqueue(db, "mail.send");
    for (const args of [
      ["jobs", "show", U],
      ["jobs", "show", id, "--tenant", U],
    ]) {
      const { exitCode, stdout, stderr } = await run(args, { DATABASE_URL: db.url });
      expect({ exitCode, stdout }).toEqual({ exitCode: 4, stdout: "" });
      expect(stderr).toContain("There is no job");
    }
    const document = await run(["jobs", "show", U, "--json"], { DATABASE_URL: db.url });
    expect(JSON.parse(document.stderr)).toMatchObject({ error: { name: "not_found", exitCode: 4 } });
    expect(await run(["jobs", "show", "42"], { DATABASE_URL: db.url })).toMatchObject({ exitCode: 2 });
  });
});

describe("jobforge jobs export", () => {
  test("writes the jobs of all pages, one document per line", async ({ db }) => {
    await db.query("select count(jobforge_enqueue_job($1, 'bulk')) from generate_series(1, 1005)", [T]);
    const { exitCode, stdout, stderr } = await run(["jobs", "export", "--type", "bulk"], {
      DATABASE_URL: db.url,
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "1,005 jobs written.\n" });
    const ids = stdout
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { id: string }).id);
    expect(new Set(ids).size).toBe(1005);
  });

  test("ends without an error when the reader closes the pipe", async ({ db }) => {
    await db.query("select count(jobforge_enqueue_job($1, 'bulk')) from generate_series(1, 3000)", [T]);
    const child = startJobforge(["jobs", "export"], { cwd: tmpdir(), env: { DATABASE_URL: db.url } });
    await child.printed("bulk");
    child.process.stdout?.destroy();
    const { code, signal } = await child.ended;
    expect({ code, signal, stderr: child.stderr() }).toEqual({ code: null, signal: "SIGTERM", stderr: "" });
  });

  test("exports all jobs, also those of pages that are cut because of their bytes", async ({ db }) => {
    await db.query(
      "select count(jobforge_enqueue_job($1, 'large', to_jsonb(repeat('a', 1048000)))) from generate_series(1, 11)",
      [T],
    );
    const { stdout } = await run(["jobs", "export"], { DATABASE_URL: db.url });
    expect(stdout.trim().split("\n")).toHaveLength(11);
    const { items, cursor } = await json<Listed>(["jobs", "list", "--limit", "100"], db.url);
    expect([items.length, cursor]).toEqual([8, items[7]?.id]);
  });

  test("--format takes precedence over --json", async ({ db }) => {
    await enqueue(db, "a");
    const { stdout } = await run(["jobs", "export", "--format", "csv", "--json"], { DATABASE_URL: db.url });
    expect(stdout).toMatch(/^id,tenantId,type,/);
  });

  test("--json prints one document", async ({ db }) => {
    const id = await enqueue(db, "a");
    expect(await json(["jobs", "export"], db.url)).toMatchObject({ items: [{ id }], cursor: null });
  });

  test("writes CSV to a file, without formulas", async ({ db }) => {
    await db.query("select jobforge_enqueue_job($1, 'a', $2, p_subject => '=1+1')", [
      T,
      { text: 'a "b", c' },
    ]);
    await using folder = await temporaryFolder();
    const file = join(folder.path, "jobs.csv");
    const { exitCode, stdout } = await run(["jobs", "export", "--format", "csv", "--output", file], {
      DATABASE_URL: db.url,
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "" });
    const [header, row] = (await readFile(file, "utf8")).split("\n");
    expect(header).toMatch(/^id,tenantId,type,status,/);
    expect(row).toContain(",'=1+1,");
    expect(row).toContain('"{""text"":""a \\""b\\"", c""}"');
  });

  test("refuses other formats", async ({ db }) => {
    for (const path of ["/no/such/directory/jobs.csv", "/"]) {
      const refused = await run(["jobs", "export", "--output", path], { DATABASE_URL: db.url });
      expect(refused).toMatchObject({ exitCode: 4, stdout: "" });
      expect(refused.stderr).toMatch(
        /^The file .* cannot be written: (its directory does not exist|it is a directory)\.\n$/,
      );
    }
    expect(await run(["jobs", "export", "--format", "xml"], { DATABASE_URL: db.url })).toMatchObject({
      exitCode: 2,
    });
  });
});

describe("jobforge jobs tail", () => {
  interface Line {
    readonly id: string;
    readonly status: string;
    readonly type: string;
  }

  test("prints each state of a job once, until it is stopped", async ({ db }) => {
    await enqueue(db, "first");
    const stopping = new AbortController();
    const lines: Line[] = [];
    const then: Readonly<Record<string, () => unknown>> = {
      "first queued": () => enqueue(db, "a"),
      "a queued": () => db.query("select from jobforge_claim_jobs('w', 10, array['a'])"),
      "a running": () =>
        db.query(
          "select jobforge_complete_job(id, 'w', 'succeeded') from jobforge_jobs where status = 'running'",
        ),
      "a succeeded": () => stopping.abort(),
    };
    const options = ["--every", "20ms", "--since", "1h", "--json"];
    const { exitCode } = await run(
      ["jobs", "tail", ...options],
      { DATABASE_URL: db.url },
      {
        signal: stopping.signal,
        onOutput: (text) => {
          const line: Line = JSON.parse(text);
          lines.push(line);
          then[`${line.type} ${line.status}`]?.();
        },
      },
    );
    expect(exitCode).toBe(0);
    expect(lines.map(({ type, status }) => `${type} ${status}`)).toEqual(Object.keys(then));
  });

  test("starts with the present changes, and shows only jobs that match the filters", async ({ db }) => {
    const before = await enqueue(db, "a");
    const stopping = new AbortController();
    let line: Line | undefined;
    const tail = run(
      ["jobs", "tail", "--type", "a", "--every", "20ms", "--json"],
      { DATABASE_URL: db.url },
      {
        signal: stopping.signal,
        onOutput: (text) => {
          line ??= JSON.parse(text) as Line;
          stopping.abort();
        },
      },
    );
    while (line === undefined) {
      await enqueue(db, "b");
      await enqueue(db, "a");
    }
    expect(await tail).toMatchObject({ exitCode: 0 });
    expect(line).toMatchObject({ type: "a", status: "queued" });
    expect(line.id).not.toBe(before);
  });

  test("follows one job until it is finished, and its status gives the exit code", async ({ db }) => {
    const good = await enqueue(db, "good");
    const bad = await enqueue(db, "bad");
    await db.query(
      "select jobforge_complete_job(id, 'w', 'succeeded') from jobforge_claim_jobs('w', 1, array['good'])",
    );
    await failOnce(db, "bad", "boom");
    const env = { DATABASE_URL: db.url };
    const one = await run(["jobs", "tail", good], env, { terminal: {} });
    expect(one.exitCode).toBe(0);
    expect(one.stdout).toContain("\u001b[32msucceeded");
    const other = await run(["jobs", "tail", bad], env);
    expect(other.exitCode).toBe(1);
    expect(other.stdout).toMatch(/failed +1\/5 bad boom\n$/);
    expect(await run(["jobs", "tail", U], env)).toMatchObject({ exitCode: 4 });
  });

  test("shows running jobs, however many jobs wait", async ({ db }) => {
    const running = await enqueue(db, "a");
    await db.query("select from jobforge_claim_jobs('w')");
    await db.query(
      "select count(jobforge_enqueue_job($1, 'b', p_run_at => '2100-01-01')) from generate_series(1, 1001)",
      [T],
    );
    const stopping = new AbortController();
    const { stdout } = await run(
      ["jobs", "tail", "--since", "1h", "--every", "20ms"],
      { DATABASE_URL: db.url },
      {
        signal: stopping.signal,
        onOutput: (text) => {
          if (text.includes(running)) stopping.abort();
        },
      },
    );
    expect(stdout).toContain(running);
  });

  test("--since starts with earlier changes", async ({ db }) => {
    await enqueue(db, "a");
    const stopping = new AbortController();
    const { stdout } = await run(
      ["jobs", "tail", "--since", "1h", "--every", "20ms"],
      { DATABASE_URL: db.url },
      {
        signal: stopping.signal,
        onOutput: () => stopping.abort(),
      },
    );
    expect(stdout).toMatch(/queued +0\/5 a\n$/);
  });
});
