/** Failures by kind of error: which errors are of one kind, how groups are counted, listed and rescheduled. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, enqueue, expectError, fail, type Sql, T, U } from "../support/kernel.ts";
import { boundLogin, login } from "../support/tenants.ts";

type Group = {
  error_group: string;
  type: string;
  message: string;
  jobs: number;
  tenant_ids: string[];
  newest_job_id: string;
};

async function groups(db: Sql, filters: unknown = {}, tenant: string | null = null): Promise<Group[]> {
  return await db.query<Group>("select * from jobforge_list_dead_groups($1, $2)", [
    tenant,
    JSON.stringify(filters),
  ]);
}

/** Enqueues a job and ends it as failed, without retries. */
async function broken(
  db: Sql,
  message: string,
  job: { type?: string; tenant_id?: string } = {},
): Promise<string> {
  const { id } = await enqueue(db, job);
  await claim(db, "w1", { types: [job.type ?? "a"] });
  await fail(db, id, { error: { message }, retry: false });
  return id;
}

describe("the kind of an error", () => {
  const kind = (db: Sql, message: string, name?: string): Promise<string> =>
    db.value<string>("select jobforge.error_group($1)", [
      JSON.stringify({ message, name, attemptedAt: "x" }),
    ]);

  test.for([
    ["numbers", "Timeout after 300 ms", "Timeout after 4500 ms"],
    ["addresses", "connect ECONNREFUSED 10.0.0.1:5432", "connect ECONNREFUSED 10.0.12.7:6432"],
    ["uuids", `no row ${T}`, `no row ${U}`],
    ["long hex ids", "no object 9f86d081884c7d65", "no object 2c26b46b68ffc68f"],
    ["quoted texts", `"ada" is no address`, `"grace hopper" is no address`],
    ["single quotes", "key 'a' is missing", "key 'bcd' is missing"],
  ])("does not depend on %s", async ([, one = "", other = ""], { db }) => {
    expect(await kind(db, one)).toBe(await kind(db, other));
    expect(await kind(db, one)).toMatch(/^[0-9a-f]{12}$/);
  });

  test("depends on words and on the error's name", async ({ db }) => {
    const kinds = [
      await kind(db, "connection refused"),
      await kind(db, "connection reset"),
      await kind(db, "connection refused", "TypeError"),
      await kind(db, "deadbeef is no word with a digit"),
      await kind(db, "feedface is no word with a digit"),
    ];
    expect(new Set(kinds).size).toBe(5);
  });

  const kindOf = (db: Sql, error: object): Promise<string> =>
    db.value<string>("select jobforge.error_group($1)", [JSON.stringify(error)]);
  const fetchFailed = (cause: unknown): object => ({ name: "TypeError", message: "fetch failed", cause });
  const refused = (address: string): object => ({
    name: "Error",
    message: `connect ECONNREFUSED ${address}`,
  });

  test("is the kind of the innermost cause", async ({ db }) => {
    const kinds = [
      await kindOf(db, fetchFailed(refused("127.0.0.1:1"))),
      await kindOf(db, { message: "cannot pay", cause: fetchFailed(refused("10.1.2.3:443")) }),
      await kindOf(db, refused("10.0.0.1:80")),
      // Without a message of its own, an AggregateError says only what its first member says.
      await kindOf(
        db,
        fetchFailed({ name: "AggregateError", message: "", errors: [refused("10.0.0.1:1"), {}] }),
      ),
    ];
    expect(new Set(kinds).size).toBe(1);
  });

  test("tells failed calls apart by their cause", async ({ db }) => {
    const kinds = [
      await kindOf(db, fetchFailed(refused("127.0.0.1:1"))),
      await kindOf(db, fetchFailed({ name: "Error", message: "getaddrinfo ENOTFOUND api.example" })),
      await kindOf(db, fetchFailed({ name: "Error", message: "", code: "UND_ERR_SOCKET" })),
      await kindOf(db, fetchFailed("a text")),
      await kindOf(db, fetchFailed({})),
    ];
    expect(new Set(kinds).size).toBe(5);
    expect(kinds[4]).toBe(await kindOf(db, fetchFailed(undefined)));
  });

  test("is null without an error", async ({ db }) => {
    expect(await db.value("select jobforge.error_group(null)")).toBeNull();
  });
});

test("failed and dead jobs are grouped by type and kind of error, the largest group first", async ({
  db,
}) => {
  await broken(db, "Timeout after 1 ms");
  const newest = await broken(db, "Timeout after 22 ms", { tenant_id: U });
  await broken(db, "Timeout after 3 ms", { type: "b" });
  const dead = await enqueue(db, { type: "c", max_attempts: 1 });
  await claim(db);
  await fail(db, dead.id, { error: { message: "gone" } });
  await enqueue(db, { type: "queued" });
  const found = await groups(db);
  expect(found.map(({ type, jobs, message }) => ({ type, jobs, message }))).toEqual([
    { type: "a", jobs: 2, message: "Timeout after 22 ms" },
    { type: "c", jobs: 1, message: "gone" },
    { type: "b", jobs: 1, message: "Timeout after 3 ms" },
  ]);
  expect(found[0]).toMatchObject({ newest_job_id: newest, tenant_ids: [T, U] });
  expect(found[0]?.error_group).toBe(found[2]?.error_group);
});

test("a group of failures with one cause shows the messages of the causes", async ({ db }) => {
  for (const cause of ["connect ECONNREFUSED 10.0.0.1:1", "connect ECONNREFUSED 10.0.0.2:2", "timed out"]) {
    const { id } = await enqueue(db);
    await claim(db);
    await fail(db, id, { error: { message: "fetch failed", cause: { message: cause } }, retry: false });
  }
  expect(await groups(db)).toMatchObject([
    { jobs: 2, message: "fetch failed: connect ECONNREFUSED 10.0.0.2:2" },
    { jobs: 1, message: "fetch failed: timed out" },
  ]);
});

test("filters restrict the jobs, and limit restricts the groups", async ({ db }) => {
  await broken(db, "one");
  await broken(db, "two", { type: "b" });
  const types = async (filters: unknown): Promise<string[]> =>
    (await groups(db, filters)).map((group) => group.type);
  expect(await types({ type: "b" })).toEqual(["b"]);
  expect(await types({ error_contains: "ONE" })).toEqual(["a"]);
  expect(await types({ status: "dead" })).toEqual([]);
  expect(await types({ status: "succeeded" })).toEqual([]);
  expect(await types({ limit: 1 })).toHaveLength(1);
  await expectError(groups(db, { nonsense: 1 }), "JF002", "nonsense");
  await expectError(groups(db, { cursor: T }), "JF002", "filters");
});

test("a group can be listed and rescheduled without affecting other jobs", async ({ db }) => {
  const mine = await broken(db, "Timeout after 1 ms");
  await broken(db, "Timeout after 2 ms", { tenant_id: U });
  await broken(db, "refused");
  const [group] = await groups(db, { error_contains: "timeout" });
  const filters = JSON.stringify({ error_group: group?.error_group });
  expect(await db.query("select id from jobforge_list_jobs($1, $2)", [T, filters])).toEqual([{ id: mine }]);
  expect(await db.query("select id from jobforge_search_jobs($1)", [filters])).toHaveLength(2);
  expect(await db.value("select jobforge_reschedule_jobs($1, $2)", [T, filters])).toEqual({
    matched: 1,
    changed: 1,
  });
  // A job that waits for its retry keeps its last error, so the filter also finds it among live jobs.
  expect(await db.query("select status from jobforge_list_jobs($1, $2)", [T, filters])).toEqual([
    { status: "queued" },
  ]);
  expect(await groups(db, { error_contains: "timeout" })).toMatchObject([{ jobs: 1, tenant_ids: [U] }]);
});

test("a tenant sees its own groups, an operator sees those of all tenants, and other roles see none", async ({
  db,
}) => {
  await broken(db, "mine");
  await broken(db, "theirs", { tenant_id: U });
  await using tenant = await boundLogin(db, T, "jobforge_tenant");
  expect(await groups(tenant, {}, T)).toMatchObject([{ message: "mine", tenant_ids: [T] }]);
  await expectError(groups(tenant, {}, U), "42501");
  await expectError(groups(tenant), "42501");
  await using operator = await login(db, "jobforge_operator");
  expect(await groups(operator)).toHaveLength(2);
  await using bound = await boundLogin(db, T, "jobforge_operator");
  await expectError(groups(bound), "42501");
  await using reader = await login(db, "jobforge_reader");
  await expect(groups(reader)).rejects.toMatchObject({ code: "42501" });
});
