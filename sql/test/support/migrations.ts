/** Databases without JobForge, and installations that look older than they are. */
import { type MigrateResult, migrate } from "@jobforge/sql";
import { cloneDatabase, type TestDatabase } from "@jobforge/testing";
import { inject } from "vitest";
import { test as base } from "../../../test/database.ts";

/** The suite's `test` with an empty database as `empty`. */
export const test = base.extend<{ empty: TestDatabase }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the fixtures a test needs from this pattern
  empty: async ({}, use) => {
    await using empty = await emptyDatabase();
    await use(empty);
  },
});

export async function emptyDatabase(): Promise<TestDatabase> {
  return await cloneDatabase({ ...inject("server"), template: "template0" });
}

/** Makes the installation look as if a file of functions had changed since it was installed. */
export async function outdate(db: TestDatabase): Promise<void> {
  await db.query(
    "update jobforge.repeatables set checksum = 'of an older file' where name = 'functions/shared/errors.sql'",
  );
}

/** Migrates a database as if a release with changed functions were installed. */
export async function refresh(db: TestDatabase): Promise<MigrateResult> {
  await outdate(db);
  return await migrate({ database: db.url });
}

/** Returns the schemas with functions and views of the API, and their number. */
export async function apiObjects(
  db: TestDatabase,
): Promise<{ schema: string; kind: string; objects: number }[]> {
  return await db.query<{ schema: string; kind: string; objects: number }>(
    `select schema, kind, count(*)::int as objects
     from (
       select pronamespace::regnamespace::text as schema, 'function' as kind from pg_proc where proname like 'jobforge\\_%'
       union all
       select relnamespace::regnamespace::text, 'view' from pg_class where relkind = 'v' and relname like 'jobforge\\_%'
     ) o
     group by 1, 2
     order by 1, 2`,
  );
}
