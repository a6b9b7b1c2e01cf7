/** Gives every test of a file its own database. */
import { cloneDatabase, type TestDatabase } from "@jobforge/testing";
import { test as base, inject } from "vitest";

/** Vitest's `test` with a fresh, migrated database as `db`. */
export const test = base.extend<{ db: TestDatabase }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the fixtures a test needs from this pattern
  db: async ({}, use) => {
    await using db = await cloneDatabase(inject("server"));
    await use(db);
  },
});
