import { migrate, migrationScript, migrationStatus, version } from "@jobforge/sql";
import pg from "pg";
import { describe, expect } from "vitest";
import { compareVersions } from "../../src/state.ts";
import { outcome, refusal } from "../support/failures.ts";
import { apiObjects, emptyDatabase, outdate, test } from "../support/migrations.ts";

const tenant = "11111111-1111-4111-8111-111111111111";

describe("a first migration", () => {
  test("installs JobForge in an empty database", async ({ empty }) => {
    const result = await migrate({ database: empty.url });
    expect(result).toMatchObject({ version, apiSchema: "public", refreshed: true });
    expect(result.applied[0]).toBe("0001_installation.sql");
    const job = await empty.value<{ status: string }>("select jobforge_enqueue_job($1, 'mail')", [tenant]);
    expect(job.status).toBe("queued");
  });

  test("records its files in order, and its version", async ({ empty }) => {
    const { applied } = await migrate({ database: empty.url });
    expect(await empty.query("select name from jobforge.migrations order by number")).toEqual(
      applied.map((name) => ({ name })),
    );
    expect(await empty.query("select version, api_schema from jobforge.installation")).toEqual([
      { version, api_schema: "public" },
    ]);
  });

  test("uses the session of a given client, and leaves its settings unchanged", async ({ empty }) => {
    const { client, value } = await empty.connect();
    const before = await value(
      "select session_user || current_setting('role') || current_setting('search_path')",
    );
    await migrate({ database: client });
    expect(
      await value("select session_user || current_setting('role') || current_setting('search_path')"),
    ).toBe(before);
    expect(await value("select current_setting('lock_timeout')")).toBe("0");
    expect(await value("select current_setting('check_function_bodies')")).toBe("on");
  });

  test("reports its progress", async ({ empty }) => {
    const messages: string[] = [];
    const { applied } = await migrate({
      database: empty.url,
      onProgress: (message) => messages.push(message),
    });
    expect(messages).toEqual(applied.map((name) => `Applying ${name}`));
  });

  test("that fails half way leaves nothing behind", async ({ empty }) => {
    // The view of this name cannot be created, because there is a table.
    await empty.query("create table public.jobforge_jobs (x integer)");
    expect(await outcome(migrate({ database: empty.url }))).not.toBe("accepted");
    expect(await empty.value("select to_regnamespace('jobforge')")).toBeNull();
    expect(await empty.value("select to_regclass('public.jobforge_job_attempts')")).toBeNull();
  });
});

describe("migrating again", () => {
  test("changes nothing", async ({ empty }) => {
    await migrate({ database: empty.url });
    const state = "select jsonb_agg(r order by name) from jobforge.repeatables r";
    const before = await empty.value(state);
    const messages: string[] = [];
    const result = await migrate({ database: empty.url, onProgress: (message) => messages.push(message) });
    expect(result).toEqual({ version, apiSchema: "public", applied: [], refreshed: false });
    expect(messages).toEqual([]);
    expect(await empty.value(state)).toEqual(before);
  });

  test("keeps jobs, policies and bindings when functions are refreshed", async ({ empty }) => {
    await migrate({ database: empty.url });
    const { role } = await empty.createLogin("jobforge_tenant");
    await empty.query("select jobforge_enqueue_job($1, 'mail', '{\"x\": 1}')", [tenant]);
    await empty.query("select jobforge_set_policy('mail', '{\"max_attempts\": 9}')");
    await empty.query("select jobforge_bind_role($1, $2)", [role, tenant]);
    await empty.query("update jobforge.repeatables set checksum = ''");
    expect(await migrate({ database: empty.url })).toMatchObject({ applied: [], refreshed: true });
    expect(await empty.query("select type, payload from jobforge_jobs")).toEqual([
      { type: "mail", payload: { x: 1 } },
    ]);
    expect(await empty.value("select max_attempts from jobforge.policies where type = 'mail'")).toBe(9);
    expect(await empty.value("select tenant_id from jobforge.role_bindings where role = $1", [role])).toBe(
      tenant,
    );
  });
});

describe("migrating at the same time", () => {
  test("by ten processes on one database: one applies the files, and all succeed", async ({ empty }) => {
    const results = await Promise.all(Array.from({ length: 10 }, () => migrate({ database: empty.url })));
    expect(results.filter((result) => result.applied.length > 0)).toHaveLength(1);
    expect(results.filter((result) => result.refreshed)).toHaveLength(1);
    expect(await migrationStatus({ database: empty.url })).toMatchObject({ upToDate: true });
  });

  test("by ten processes on an older installation: one refreshes it, and all succeed", async ({ db }) => {
    await outdate(db);
    const results = await Promise.all(Array.from({ length: 10 }, () => migrate({ database: db.url })));
    expect(results.filter((result) => result.refreshed)).toHaveLength(1);
  });

  test("waits for nothing that another login can hold", async ({ db }) => {
    await outdate(db);
    const stranger = await db.connect((await db.createLogin()).url);
    await stranger.query("select pg_advisory_lock(hashtextextended('jobforge.migrate', 0))");
    await stranger.query("begin");
    expect(await outcome(stranger.query("lock table jobforge.migrations in access share mode"))).toBe(
      "42501",
    );
    const { client } = await db.connect();
    await client.query("set statement_timeout = '20s'");
    expect(await migrate({ database: client })).toMatchObject({ refreshed: true });
  });

  test("in two databases of one cluster completes both", async ({ empty }) => {
    await using second = await emptyDatabase();
    await Promise.all([empty, second].map((db) => migrate({ database: db.url })));
    for (const db of [empty, second]) {
      expect(await migrationStatus({ database: db.url })).toMatchObject({ upToDate: true });
    }
  });
});

describe("the status", () => {
  test("names every pending file before a migration, and none after it", async ({ empty }) => {
    const before = await migrationStatus({ database: empty.url });
    expect(before).toMatchObject({ version, installedVersion: null, apiSchema: "public", upToDate: false });
    const { applied } = await migrate({ database: empty.url });
    expect(before.pending).toEqual(applied);
    expect(await migrationStatus({ database: empty.url })).toEqual({
      version,
      installedVersion: version,
      apiSchema: "public",
      pending: [],
      upToDate: true,
    });
  });

  test("changes nothing in the database", async ({ empty }) => {
    await migrationStatus({ database: empty.url });
    expect(await empty.value("select to_regnamespace('jobforge')")).toBeNull();
  });

  test("is not up to date when only functions have changed", async ({ db }) => {
    await db.query("delete from jobforge.repeatables where name = 'functions/shared/errors.sql'");
    expect(await migrationStatus({ database: db.url })).toMatchObject({ pending: [], upToDate: false });
  });

  test("cannot be read by a role without rights, and the error says so", async ({ db }) => {
    const { url } = await db.createLogin();
    expect(await refusal(migrationStatus({ database: url }))).toMatchObject({
      code: "insufficient_privilege",
    });
  });
});

describe("another API schema", () => {
  test.for(["jobs_api", "_x", "MixedCase", "select", "a".repeat(63)])(
    "%s holds all functions and views, and public holds none",
    async (apiSchema, { empty }) => {
      expect(await migrate({ database: empty.url, apiSchema })).toMatchObject({ apiSchema });
      const schema = await empty.value<string>("select quote_ident($1)", [apiSchema]);
      const objects = await apiObjects(empty);
      expect(objects.map((row) => row.schema)).toEqual([schema, schema]);
      expect(objects.every((row) => row.objects > 0)).toBe(true);
    },
  );

  test("works for the client roles, from enqueue to result", async ({ empty }) => {
    await migrate({ database: empty.url, apiSchema: "Jobs" });
    const app = await empty.connect((await empty.createLogin("jobforge_app")).url);
    const worker = await empty.connect((await empty.createLogin("jobforge_worker")).url);
    await app.query("select set_config('app.tenant_id', $1, false)", [tenant]);
    const { id } = await app.value<{ id: string }>(`select "Jobs".jobforge_enqueue_job($1, 'mail')`, [
      tenant,
    ]);
    expect(await worker.query(`select id from "Jobs".jobforge_claim_jobs('w1')`)).toEqual([{ id }]);
    await worker.query(`select "Jobs".jobforge_complete_job($1, 'w1', 'succeeded', p_result => '1')`, [id]);
    expect(await app.query(`select status from "Jobs".jobforge_jobs`)).toEqual([{ status: "succeeded" }]);
    expect(await app.query(`select result from "Jobs".jobforge_job_results`)).toEqual([{ result: 1 }]);
    expect(await app.value(`select count(*)::int from "Jobs".jobforge_list_jobs($1)`, [tenant])).toBe(1);
  });

  test("is remembered: later migrations need not name it", async ({ empty }) => {
    await migrate({ database: empty.url, apiSchema: "jobs_api" });
    expect(await migrate({ database: empty.url })).toMatchObject({ apiSchema: "jobs_api", refreshed: false });
    await empty.query("update jobforge.repeatables set checksum = ''");
    expect(await migrate({ database: empty.url })).toMatchObject({ apiSchema: "jobs_api", refreshed: true });
    expect((await apiObjects(empty)).map((row) => row.schema)).toEqual(["jobs_api", "jobs_api"]);
  });

  test("with an invalid name is refused before anything changes", async ({ empty }) => {
    const reserved = ["pg_x", "PG_TEMP", "jobforge", "JobForge", "information_schema"];
    const malformed = [
      "",
      " ",
      "1st",
      "a b",
      "a-b",
      "a.b",
      'a"b',
      "a'b",
      "$user",
      "ä",
      "x; drop table y",
      "x\n",
    ];
    for (const apiSchema of [...reserved, ...malformed, "a".repeat(64)]) {
      expect(await refusal(migrate({ database: empty.url, apiSchema })), apiSchema).toMatchObject({
        code: "invalid_api_schema",
      });
      expect(() => migrationScript(apiSchema), apiSchema).toThrow(/cannot be the API schema/);
    }
    expect(await empty.value("select to_regnamespace('jobforge')")).toBeNull();
  });
});

describe("the printed script", () => {
  test.for(["public", "Jobs"])(
    "installs everything in %s when a superuser runs it",
    async (apiSchema, { empty }) => {
      const client = new pg.Client({ connectionString: empty.url });
      await client.connect();
      try {
        await client.query(migrationScript(apiSchema));
      } finally {
        await client.end();
      }
      expect(await migrationStatus({ database: empty.url })).toMatchObject({
        installedVersion: version,
        apiSchema,
      });
      expect(await migrate({ database: empty.url })).toMatchObject({ applied: [], refreshed: false });
      const schema = pg.escapeIdentifier(apiSchema);
      await empty.query(`select ${schema}.jobforge_enqueue_job($1, 'mail')`, [tenant]);
      expect(await empty.value(`select count(*)::int from ${schema}.jobforge_claim_jobs('w1')`)).toBe(1);
    },
  );

  test("is one transaction: a failure leaves nothing behind", async ({ empty }) => {
    await empty.query("create table public.jobforge_jobs (x integer)");
    const { client } = await empty.connect();
    expect(await outcome(client.query(migrationScript()))).not.toBe("accepted");
    expect(await empty.value("select to_regnamespace('jobforge')")).toBeNull();
  });
});

describe("versions", () => {
  const ordered = [
    "0.1.0-alpha",
    "0.1.0-alpha.2",
    "0.1.0-alpha.10",
    "0.1.0-beta.1",
    "0.1.0-rc-1",
    "0.1.0-rc-2",
    "0.1.0",
    "0.1.2",
    "0.1.10",
    "0.2.0",
    "0.10.0",
    "1.0.0",
    "10.0.0",
  ];

  test("are ordered by their numbers, a release after its pre-releases", () => {
    expect([...ordered].reverse().sort(compareVersions)).toEqual(ordered);
  });

  test("are equal only to themselves", () => {
    for (const a of ordered) {
      expect(ordered.filter((b) => compareVersions(a, b) === 0)).toEqual([a]);
    }
  });
});
