import { migrationStatus, version } from "@jobforge/sql";
import { describe, expect } from "vitest";
import { run, test } from "./support.ts";

/** A port that nothing listens on, because ports below 1024 are not assigned automatically. */
const closed = "postgres://me:s3cret@127.0.0.1:1/app";

describe("jobforge migrate", () => {
  test("migrates the database of --database-url and says so", async ({ empty }) => {
    const { exitCode, stdout, stderr } = await run(["migrate", "--database-url", empty.url]);
    expect(exitCode).toBe(0);
    expect(stdout).toBe(`The database is now at JobForge ${version} (API schema "public").\n`);
    expect(stderr).toContain("Applying 0001_installation.sql\n");
    expect(await migrationStatus({ database: empty.url })).toMatchObject({ upToDate: true });
  });

  test("migrates the database of DATABASE_URL", async ({ empty }) => {
    expect(await run(["migrate"], { DATABASE_URL: empty.url })).toMatchObject({ exitCode: 0 });
    expect(await migrationStatus({ database: empty.url })).toMatchObject({ upToDate: true });
  });

  test("prefers --database-url to DATABASE_URL", async ({ empty }) => {
    expect(await run(["migrate", "--database-url", empty.url], { DATABASE_URL: closed })).toMatchObject({
      exitCode: 0,
    });
  });

  test("says that the database is already up to date", async ({ db }) => {
    expect(await run(["migrate", "--database-url", db.url])).toEqual({
      exitCode: 0,
      stdout: `The database was already at JobForge ${version} (API schema "public").\n`,
      stderr: "",
    });
  });

  test("--json prints one document and nothing else", async ({ empty }) => {
    const { exitCode, stdout, stderr } = await run(["migrate", "--json"], { DATABASE_URL: empty.url });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const document: unknown = JSON.parse(stdout);
    expect(document).toMatchObject({ version, apiSchema: "public", refreshed: true });
    expect(document).toHaveProperty("applied.0", "0001_installation.sql");
  });

  test("--status exits with 1 while something is pending, and with 0 afterwards", async ({ empty }) => {
    const env = { DATABASE_URL: empty.url };
    const before = await run(["migrate", "--status"], env);
    expect(before.exitCode).toBe(1);
    expect(before.stdout).toMatch(/^Installed: +not installed$/m);
    expect(before.stdout).toMatch(/^Pending: +0001_installation\.sql/m);
    await run(["migrate"], env);
    const after = await run(["migrate", "--status"], env);
    expect(after.exitCode).toBe(0);
    expect(after.stdout).toMatch(/^Pending: +none$/m);
    expect(after.stdout).toMatch(new RegExp(`^Installed: +JobForge ${version.replaceAll(".", "\\.")}$`, "m"));
  });

  test("--status says if only functions and views are pending", async ({ db }) => {
    await db.query("update jobforge.repeatables set checksum = ''");
    const { exitCode, stdout } = await run(["migrate", "--status"], { DATABASE_URL: db.url });
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^Pending: +functions and views$/m);
  });

  test("--status --json prints the status as one document", async ({ db }) => {
    const { exitCode, stdout } = await run(["migrate", "--status", "--json"], { DATABASE_URL: db.url });
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      version,
      installedVersion: version,
      apiSchema: "public",
      pending: [],
      upToDate: true,
    });
  });

  test("--print needs no database, and its SQL installs everything", async ({ empty }) => {
    const { exitCode, stdout, stderr } = await run(["migrate", "--print", "--api-schema", "jobs_api"]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    await empty.query(stdout);
    expect(await migrationStatus({ database: empty.url })).toMatchObject({
      apiSchema: "jobs_api",
      upToDate: true,
    });
  });

  test("--api-schema sets the schema of functions and views", async ({ empty }) => {
    const { exitCode, stdout } = await run(["migrate", "--api-schema", "jobs_api"], {
      DATABASE_URL: empty.url,
    });
    expect(exitCode).toBe(0);
    expect(stdout).toContain('(API schema "jobs_api")');
    expect(await empty.value("select to_regclass('jobs_api.jobforge_jobs') is not null")).toBe(true);
    expect(await empty.value("select to_regclass('public.jobforge_jobs')")).toBeNull();
  });

  test("a refused migration exits with 1 and says what to do", async ({ db }) => {
    const { exitCode, stdout, stderr } = await run(["migrate", "--api-schema", "elsewhere"], {
      DATABASE_URL: db.url,
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toContain('installed with the API schema "public", not "elsewhere"\n');
    expect(stderr).toContain("Migrate with --api-schema public");
  });

  test("with --json the error of a refused migration is a document", async ({ db }) => {
    const { exitCode, stdout, stderr } = await run(["migrate", "--api-schema", "elsewhere", "--json"], {
      DATABASE_URL: db.url,
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(JSON.parse(stderr)).toMatchObject({ error: { name: "api_schema_differs", exitCode: 1 } });
  });

  test("--help shows its options", async () => {
    const { exitCode, stdout } = await run(["migrate", "--help"]);
    expect(exitCode).toBe(0);
    for (const option of ["--database-url", "--api-schema", "--status", "--print", "--json"]) {
      expect(stdout).toContain(option);
    }
  });
});

describe("wrong usage exits with 2 and points to the help", () => {
  const good = { DATABASE_URL: closed };

  test.for<readonly [args: string[], env: Record<string, string>, message: string]>([
    [["migrat"], good, "unknown command 'migrat'"],
    [["toString"], good, "unknown command 'toString'"],
    [["--frobnicate"], good, "unknown option '--frobnicate'"],
    [["migrate", "--frobnicate"], good, "--frobnicate"],
    [["migrate", "now"], good, "too many arguments"],
    [["migrate", "--api-schema"], good, "--api-schema"],
    [["migrate", "--status=yes"], good, "--status"],
    [["migrate"], {}, "No database is given. Pass --database-url, set DATABASE_URL, or "],
    [["migrate"], { DATABASE_URL: "" }, "No database"],
    [["migrate", "--database-url", "mysql://me:s3cret@h/d"], {}, "must start with postgres://"],
    [["migrate", "--database-url", "postgres://me:s3cret%@h/d"], {}, "is not a valid URL"],
    [["migrate", "--database-url", "postgres://me:s3cret@h:port/d"], {}, "is not a valid URL"],
  ])("%j", async ([args, env, message]) => {
    const { exitCode, stdout, stderr } = await run(args, env);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain(message);
    expect(stderr).toContain(args[0] === "migrate" ? "jobforge migrate --help" : "jobforge --help");
    expect(stderr).not.toContain("s3cret");
  });

  test("without a command the commands are listed", async () => {
    const { exitCode, stdout } = await run([]);
    expect(exitCode).toBe(2);
    expect(stdout).toMatch(/^Usage: jobforge \[options\] \[command\]/);
    expect(await run(["--help"])).toEqual({ exitCode: 0, stdout, stderr: "" });
  });

  test("an invalid API schema", async () => {
    const { exitCode, stderr } = await run(["migrate", "--print", "--api-schema", "pg_jobs"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('"pg_jobs" cannot be the API schema');
  });

  test("with --json the error is a document", async () => {
    const { exitCode, stderr } = await run(["migrate", "--frobnicate", "--json"]);
    expect(exitCode).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({ error: { name: "usage", exitCode: 2 } });
  });
});

describe("no connection exits with 3 and never shows the password", () => {
  test("if nothing listens", async () => {
    for (const args of [["migrate"], ["migrate", "--status"]]) {
      const { exitCode, stdout, stderr } = await run(args, { DATABASE_URL: closed });
      expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: "" });
      expect(stderr).toContain("No connection to the database");
      expect(stderr).toContain("Check --database-url or DATABASE_URL");
      expect(stderr).not.toContain("s3cret");
    }
  });

  test("if nothing listens, as a document", async () => {
    const { exitCode, stderr } = await run(["migrate", "--json"], { DATABASE_URL: closed });
    expect(exitCode).toBe(3);
    expect(JSON.parse(stderr)).toMatchObject({ error: { name: "no_connection", exitCode: 3 } });
    expect(stderr).not.toContain("s3cret");
  });

  test("if the password is wrong, or the database does not exist", async ({ db }) => {
    const wrongPassword = new URL(db.url);
    wrongPassword.password = "s3cret";
    const wrongDatabase = new URL(db.url);
    wrongDatabase.pathname = "/no_such_database";
    for (const url of [wrongPassword, wrongDatabase]) {
      const { exitCode, stderr } = await run(["migrate"], { DATABASE_URL: url.href });
      expect(exitCode).toBe(3);
      expect(stderr).not.toContain(url.password);
    }
  });

  test("a successful migration does not show it either", async ({ empty }) => {
    const { password } = new URL(empty.url);
    expect(password).not.toBe("");
    for (const args of [["migrate"], ["migrate", "--status"], ["migrate", "--json"]]) {
      const { stdout, stderr } = await run(args, { DATABASE_URL: empty.url });
      expect(stdout + stderr).not.toContain(password);
    }
  });
});
