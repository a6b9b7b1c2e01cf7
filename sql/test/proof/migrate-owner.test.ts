/**
 * Which roles may install JobForge. Roles belong to a whole cluster, so these tests have their own server, whose roles
 * they drop after each test.
 */
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EmbeddedPostgres, startEmbedded } from "@jobforge/embedded";
import { migrate, migrationScript, migrationStatus } from "@jobforge/sql";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { refusal } from "../support/failures.ts";

const tenant = "11111111-1111-4111-8111-111111111111";
const directory: string = join(tmpdir(), `jobforge-owner-${process.pid}-${randomBytes(4).toString("hex")}`);
let server: EmbeddedPostgres;

beforeAll(async () => {
  const version = process.env["JOBFORGE_TEST_POSTGRES"] === "15" ? 15 : 18;
  server = await startEmbedded({ directory, version, settings: { fsync: "off" } });
});

afterAll(async () => {
  await server?.stop();
  await rm(directory, { recursive: true, force: true });
});

afterEach(async () => {
  const databases = await run(
    server.url,
    "select datname as name from pg_database where datname like 'app\\_%'",
  );
  for (const { name } of databases) await run(server.url, `drop database ${name} with (force)`);
  for (const role of [...(await kernelRoles()), ...(await rolesLike("owner\\_%"))]) {
    await run(server.url, `drop role ${role}`);
  }
});

async function run(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const result = await client.query<Record<string, unknown>>(sql);
    return result.rows;
  } finally {
    await client.end();
  }
}

async function rolesLike(pattern: string): Promise<string[]> {
  const rows = await run(
    server.url,
    `select rolname from pg_roles where rolname like '${pattern}' order by 1`,
  );
  return rows.map((row) => String(row["rolname"]));
}

async function kernelRoles(): Promise<string[]> {
  return await rolesLike("jobforge\\_%");
}

/** Creates a database and the login that owns it. */
async function ownedDatabase(attributes: string): Promise<{ role: string; url: string; database: string }> {
  const name = randomBytes(4).toString("hex");
  const role = `owner_${name}`;
  const database = `app_${name}`;
  await run(server.url, `create role ${role} login password 'secret' ${attributes}`);
  await run(server.url, `create database ${database} owner ${role}`);
  const url = new URL(server.urlFor(database));
  url.username = role;
  url.password = "secret";
  return { role, url: url.href, database };
}

/** Uses the installation from enqueue to list, as its owner: no further grant is needed. */
async function useEverything(url: string): Promise<void> {
  await run(url, `select jobforge_set_policy('mail', '{"preset": "atlas"}')`);
  const [job] = await run(url, `select jobforge_enqueue_job('${tenant}', 'mail') ->> 'id' as id`);
  expect(await run(url, "select id from jobforge_claim_jobs('w1')")).toEqual([job]);
  await run(url, `select jobforge_complete_job('${job?.["id"]}', 'w1', 'succeeded')`);
  expect(await run(url, "select status from jobforge_jobs")).toEqual([{ status: "succeeded" }]);
  expect(await run(url, `select status from jobforge_list_jobs('${tenant}')`)).toEqual([
    { status: "succeeded" },
  ]);
}

describe("an owner that may create roles but is not a superuser", () => {
  test("installs JobForge and can use all of it immediately", async () => {
    const owner = await ownedDatabase("createrole");
    expect(await migrate({ database: owner.url })).toMatchObject({ refreshed: true });
    await useEverything(owner.url);
  });

  test("installs it in another API schema and can use it there", async () => {
    const owner = await ownedDatabase("createrole");
    await migrate({ database: owner.url, apiSchema: "jobs_api" });
    const [job] = await run(
      owner.url,
      `select jobs_api.jobforge_enqueue_job('${tenant}', 'mail') ->> 'id' as id`,
    );
    expect(await run(owner.url, "select id from jobs_api.jobforge_claim_jobs('w1')")).toEqual([job]);
  });

  test("can migrate again, and refresh functions and views", async () => {
    const owner = await ownedDatabase("createrole");
    await migrate({ database: owner.url });
    expect(await migrate({ database: owner.url })).toMatchObject({ refreshed: false });
    await run(owner.url, "update jobforge.repeatables set checksum = ''");
    expect(await migrate({ database: owner.url })).toMatchObject({ refreshed: true });
    await useEverything(owner.url);
  });

  test("can grant the roles: a login of the owner is a tenant", async () => {
    const owner = await ownedDatabase("createrole");
    await migrate({ database: owner.url });
    await run(owner.url, `create role ${owner.role}_app login password 'secret'`);
    await run(owner.url, `grant jobforge_tenant to ${owner.role}_app`);
    await run(owner.url, `select jobforge_bind_role('${owner.role}_app', '${tenant}')`);
    await run(owner.url, `select jobforge_enqueue_job('${tenant}', 'mail')`);
    const app = new URL(owner.url);
    app.username = `${owner.role}_app`;
    expect(await run(app.href, "select tenant_id from jobforge_jobs")).toEqual([{ tenant_id: tenant }]);
  });

  test("leaves no privilege to create objects in the API schema", async () => {
    const owner = await ownedDatabase("createrole");
    await migrate({ database: owner.url });
    expect(
      await run(
        owner.url,
        "select r from unnest(array['jobforge_owner', 'jobforge_view']) r where has_schema_privilege(r, 'public', 'create')",
      ),
    ).toEqual([]);
  });
});

describe("an owner that may not create roles", () => {
  test("gets an error that names the missing privilege if the cluster has no roles yet, and nothing is left behind", async () => {
    const owner = await ownedDatabase("nocreaterole");
    const error = await refusal(migrate({ database: owner.url }));
    expect(error.code).toBe("insufficient_privilege");
    expect(error.message).toMatch(/may not install JobForge: permission denied to create role/);
    expect(error.hint).toContain("createrole");
    expect(error.hint).toContain("jobforge migrate --print");
    expect(await run(owner.url, "select nspname from pg_namespace where nspname = 'jobforge'")).toEqual([]);
    expect(await kernelRoles()).toEqual([]);
    expect(await migrationStatus({ database: owner.url })).toMatchObject({ installedVersion: null });
  });

  test("gets a hint to request the roles if another owner has installed JobForge in the cluster", async () => {
    const first = await ownedDatabase("createrole");
    await migrate({ database: first.url });
    const second = await ownedDatabase("nocreaterole");
    const error = await refusal(migrate({ database: second.url }));
    expect(error.code).toBe("insufficient_privilege");
    expect(error.hint).toContain("grant jobforge_owner");
    expect(await run(second.url, "select nspname from pg_namespace where nspname = 'jobforge'")).toEqual([]);
  });

  test("can install once the roles are granted as the hint says", async () => {
    const first = await ownedDatabase("createrole");
    await migrate({ database: first.url });
    const second = await ownedDatabase("nocreaterole");
    await run(first.url, `grant ${(await kernelRoles()).join(", ")} to ${second.role} with admin option`);
    await migrate({ database: second.url });
    await useEverything(second.url);
  });

  test("gets an error if a superuser ran the printed script and the owner has no access", async () => {
    const owner = await ownedDatabase("nocreaterole");
    await run(server.urlFor(owner.database), migrationScript());
    expect(await refusal(migrate({ database: owner.url }))).toMatchObject({ code: "insufficient_privilege" });
  });

  test("can use an installation of a superuser once the roles are granted", async () => {
    const owner = await ownedDatabase("nocreaterole");
    await run(server.urlFor(owner.database), migrationScript());
    await run(server.url, `grant jobforge_owner, jobforge_operator, jobforge_worker to ${owner.role}`);
    expect(await migrate({ database: owner.url })).toMatchObject({ refreshed: false });
    await useEverything(owner.url);
  });
});

test("concurrent first migrations of several databases of a new cluster succeed", async () => {
  const databases = ["app_one", "app_two", "app_three"];
  for (const database of databases) await run(server.url, `create database ${database}`);
  await Promise.all(
    databases.flatMap((database) => [1, 2].map(() => migrate({ database: server.urlFor(database) }))),
  );
  for (const database of databases) {
    expect(await migrationStatus({ database: server.urlFor(database) })).toMatchObject({ upToDate: true });
    await useEverything(server.urlFor(database));
  }
});
