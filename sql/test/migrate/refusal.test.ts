import { migrate, migrationStatus, version } from "@jobforge/sql";
import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { refusal } from "../support/failures.ts";
import { outdate, test } from "../support/migrations.ts";

/** Everything that a migration could change, to check that it changed nothing. */
async function fingerprint(db: TestDatabase): Promise<unknown> {
  return await db.value(
    `select jsonb_build_array(
       (select jsonb_agg(i) from jobforge.installation i),
       (select jsonb_agg(m order by number) from jobforge.migrations m),
       (select jsonb_agg(r order by name) from jobforge.repeatables r),
       (select jsonb_agg(p.oid || p.prosrc order by p.oid) from pg_proc p where p.pronamespace = 'jobforge'::regnamespace))`,
  );
}

describe("a migration is refused", () => {
  test("when the database holds a migration that this JobForge does not know", async ({ db }) => {
    await db.query(
      "insert into jobforge.migrations (number, name, checksum) values (9999, '9999_later.sql', 'x')",
    );
    await db.query("update jobforge.installation set version = '0.1.1'");
    await outdate(db);
    const before = await fingerprint(db);
    const error = await refusal(migrate({ database: db.url }));
    expect(error).toMatchObject({
      code: "newer_jobforge",
      message: `This database was migrated by JobForge 0.1.1; this is ${version}`,
    });
    expect(error.hint).toContain("Use JobForge 0.1.1 or newer");
    expect(await fingerprint(db)).toEqual(before);
  });

  test("when an unknown migration was applied by the same version", async ({ db }) => {
    await db.query(
      "insert into jobforge.migrations (number, name, checksum) values (9999, '9999_fork.sql', 'x')",
    );
    expect(await refusal(migrate({ database: db.url }))).toMatchObject({ code: "newer_jobforge" });
  });

  test.for(["999.0.0", `${version}9`])("when the newer version %s installed it", async (newer, { db }) => {
    await db.query("update jobforge.installation set version = $1", [newer]);
    const before = await fingerprint(db);
    expect(await refusal(migrate({ database: db.url }))).toMatchObject({ code: "newer_jobforge" });
    expect(await refusal(migrationStatus({ database: db.url }))).toMatchObject({ code: "newer_jobforge" });
    expect(await fingerprint(db)).toEqual(before);
  });

  test("when it names another API schema than the installed one", async ({ db }) => {
    const error = await refusal(migrate({ database: db.url, apiSchema: "elsewhere" }));
    expect(error.code).toBe("api_schema_differs");
    expect(error.message).toBe('JobForge is installed with the API schema "public", not "elsewhere"');
    expect(error.hint).toContain("--api-schema public");
    expect(await db.value("select to_regnamespace('elsewhere')")).toBeNull();
  });

  test("when an applied numbered file has changed since", async ({ db }) => {
    await db.query("update jobforge.migrations set checksum = 'of another text' where number = 1");
    const before = await fingerprint(db);
    const error = await refusal(migrate({ database: db.url }));
    expect(error.code).toBe("changed_migration");
    expect(error.message).toContain("0001_installation.sql");
    expect(await fingerprint(db)).toEqual(before);
  });
});

describe("a migration proceeds", () => {
  test("from an older version", async ({ db }) => {
    await db.query("update jobforge.installation set version = '0.0.9'");
    expect(await migrationStatus({ database: db.url })).toMatchObject({
      installedVersion: "0.0.9",
      upToDate: false,
    });
    expect(await migrate({ database: db.url })).toMatchObject({ applied: [], refreshed: true });
    expect(await db.value("select version from jobforge.installation")).toBe(version);
  });

  test("from a pre-release of this version", async ({ db }) => {
    await db.query("update jobforge.installation set version = $1", [`${version}-rc.1`]);
    expect(await migrate({ database: db.url })).toMatchObject({ refreshed: true });
  });
});
