import { describeSchema, migrate } from "@jobforge/sql";
import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { refresh, test } from "../support/migrations.ts";

async function described(db: TestDatabase, apiSchema = "public"): Promise<string> {
  const { client } = await db.connect();
  return await describeSchema(client, apiSchema);
}

test("the schema equals sql/schema.golden.txt (after an intended change: npm run golden)", async ({
  empty,
}) => {
  await migrate({ database: empty.url });
  await expect(await described(empty)).toMatchFileSnapshot("../../schema.golden.txt");
});

describe("the description of a schema", () => {
  test.for([
    ["a column", "alter table jobforge.queue add column extra text"],
    ["a constraint", "alter table jobforge.queue drop constraint parked_in_a_bucket"],
    ["a domain", "alter domain jobforge.job_state drop constraint job_state_is_known"],
    ["an index", "drop index jobforge.queue_ready"],
    ["an option of a table", "alter table jobforge.queue set (fillfactor = 50)"],
    ["row security", "alter table jobforge.queue disable row level security"],
    ["a policy", "drop policy visible_to_the_caller on jobforge.queue"],
    ["a view's owner", "alter view public.jobforge_jobs owner to jobforge_owner"],
    [
      "a function's body",
      "create or replace function jobforge.caller() returns text language sql stable as 'select null'",
    ],
    ["a function's settings", "alter function public.jobforge_bind_role reset search_path"],
    ["a new overload", "create function public.jobforge_bind_role() returns int language sql as 'select 1'"],
    ["a grant", "grant select on jobforge.queue to public"],
  ])("shows a change of %s", async ([, change], { db }) => {
    const before = await described(db);
    await db.query(change ?? "");
    expect(await described(db)).not.toBe(before);
  });

  test("does not depend on rows, on the day, on a refresh, or on the caller's search_path", async ({
    db,
  }) => {
    const before = await described(db);
    await db.travel("40 days");
    await db.query("select jobforge_maintain()");
    await db.query("select jobforge_enqueue_job('11111111-1111-4111-8111-111111111111', 'mail')");
    await refresh(db);
    const { client } = await db.connect();
    await client.query("set search_path = jobforge, public");
    expect(await describeSchema(client, "public")).toBe(before);
  });

  test("differs only in the name of the schema when the API is in another one", async ({ db, empty }) => {
    await migrate({ database: empty.url, apiSchema: "jobs_api" });
    const lines = (text: string): string[] => text.split("\n").sort();
    expect(lines((await described(empty, "jobs_api")).replaceAll("jobs_api.", "public."))).toEqual(
      lines(await described(db)),
    );
  });
});
