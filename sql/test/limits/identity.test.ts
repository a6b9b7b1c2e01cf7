/** No types and concurrency keys that callers choose make two buckets of limits the same. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { forgeKey } from "../support/forged-keys.ts";
import { claim, complete, enqueueAll, type NewJob, type Sql, T, U } from "../support/kernel.ts";
import { setLimit, statesOf } from "../support/limits.ts";
import { settle, success } from "../support/settle.ts";

/** SQL for the hash without a secret of parts that are joined with a separator. */
const plainHash = (...parts: string[]): string =>
  `hashtextextended(concat_ws(chr(31), ${parts.map((part) => `'${part}'`).join(", ")}), 0)`;

/** Returns a concurrency key of a tenant's type whose hash without a secret is that of another bucket. */
async function forge(db: Sql, type: string, tenant: string, ...victim: string[]): Promise<string> {
  const wanted = BigInt(await db.value<string>(`select ${plainHash(...victim)}::text`));
  const prefix = ["key", type, tenant, ""].join("\u001f");
  const key = forgeKey(prefix, wanted);
  expect(BigInt(await db.value<string>("select hashtextextended($1, 0)::text", [prefix + key]))).toBe(wanted);
  return key;
}

/** Gives all buckets the same id, which chance never does. */
async function letAllCollide(db: Sql): Promise<void> {
  await db.query(
    `create or replace function jobforge.bucket_id(
       p_secret bytea, p_scope text, p_type text, p_tenant_id uuid, p_concurrency_key text
     ) returns bigint language sql stable as 'select 7::bigint'`,
  );
}

/**
 * Claims and completes until no job is left. Every round is a second later. Returns the highest number of runs that a
 * tenant and a concurrency key had at once.
 */
async function drain(db: Sql, rounds: number): Promise<{ tenant: number; key: number }> {
  const highest = { tenant: 0, key: 0 };
  for (let round = 1; round <= rounds; round += 1) {
    const { jobs, claim_error } = await settle(db, [], { claim: 10 });
    expect(claim_error).toBeUndefined();
    const [now] = await db.query<{ tenant: number; key: number }>(
      `select coalesce(max(n) filter (where key is null), 0)::int as tenant,
         coalesce(max(n) filter (where key is not null), 0)::int as key
       from (
         select count(*) as n, concurrency_key as key from jobforge.runs
         group by grouping sets ((tenant_id), (tenant_id, type, concurrency_key))
       ) x`,
    );
    highest.tenant = Math.max(highest.tenant, now?.tenant ?? 0);
    highest.key = Math.max(highest.key, now?.key ?? 0);
    await settle(
      db,
      jobs.map((job) => success(job.id)),
    );
    await db.travel(`${round} seconds`);
  }
  expect(await statesOf(db)).toEqual({});
  return highest;
}

const keyed = (tenant_id: string, type: string, concurrency_key: string): NewJob => ({
  tenant_id,
  type,
  concurrency_key,
});

test("a key that was forged for a tenant's bucket stops no claim and takes no token of it", async ({
  db,
}) => {
  await setLimit(db, "tenant", "*", { rate: 1000, per: "1 minute" });
  await setLimit(db, "key", "*", { rate: 1000, per: "1 minute" });
  const key = await forge(db, "a", T, "tenant", T);
  await enqueueAll(db, [keyed(T, "a", key), { type: "b" }, { tenant_id: U }]);
  const { jobs, claim_error } = await settle(db, [], { claim: 10 });
  expect(claim_error).toBeUndefined();
  expect(jobs).toHaveLength(3);
  expect(await db.value("select count(*)::int from jobforge.limit_rates")).toBe(3);
});

test("a key that was forged for another tenant's key holds back nothing of that tenant", async ({ db }) => {
  await setLimit(db, "key", "*", { max: 1 });
  const key = await forge(db, "a", T, "key", "pay", U, "account");
  await enqueueAll(db, [keyed(T, "a", key), keyed(T, "a", key), keyed(U, "pay", "account")]);
  expect((await claim(db)).map((job) => job.tenant_id).sort()).toEqual([T, U]);
  expect(await statesOf(db)).toEqual({ running: 2, parked: 1 });
});

test("a key that was forged for another tenant's bucket holds back nothing of that tenant", async ({
  db,
}) => {
  await setLimit(db, "tenant", "*", { max: 2 });
  await setLimit(db, "key", "*", { max: 1 });
  // This type comes before the victim's in the index of parked jobs.
  const key = await forge(db, "A", T, "tenant", U);
  const victims = await enqueueAll(
    db,
    Array.from({ length: 5 }, () => ({ tenant_id: U })),
  );
  await claim(db);
  await enqueueAll(db, [keyed(T, "A", key), keyed(T, "A", key)]);
  await claim(db, "w2");
  for (const id of victims.slice(0, 2)) await complete(db, id ?? "");
  expect((await claim(db)).map((job) => job.id)).toEqual(victims.slice(2, 4));
});

test("no two buckets are the same text, whatever separators their types and keys contain", async ({ db }) => {
  const texts = ["a", "a:1", "1:a", ":", "::", "1:", ":1", "1:a:a", "a\u001fa", "a\u001f", "1", "\u001f"];
  const [counts] = await db.query<{ ids: number; buckets: number }>(
    `with texts as (select unnest($1::text[]) as text),
       tenants as (select unnest($2::uuid[]) as id),
       buckets as (
         select 'type' as scope, t.text as type, null::uuid as tenant, null as key from texts t
         union all select 'tenant', null, n.id, null from tenants n
         union all select 'type_tenant', t.text, n.id, null from texts t, tenants n
         union all select 'key', t.text, n.id, k.text from texts t, tenants n, texts k
       )
     select count(*)::int as buckets, count(distinct jobforge.bucket_id(s.secret, scope, type, tenant, key))::int as ids
     from buckets, jobforge.bucket_secret s`,
    [texts, [T, U]],
  );
  expect(counts).toEqual({ buckets: 12 + 2 + 24 + 288, ids: 12 + 2 + 24 + 288 });
});

test("the secret of bucket ids has 32 bytes and is closed to every client", async ({ db }) => {
  expect(await db.value("select length(secret) from jobforge.bucket_secret")).toBe(32);
  expect(
    await db.value(
      `select count(*)::int from pg_roles r
       where r.rolname ~ '^jobforge_(view|tenant|app|worker|operator|reader)$'
         and has_table_privilege(r.rolname, 'jobforge.bucket_secret', 'select, insert, update, delete')`,
    ),
  ).toBe(0);
});

test("buckets with the same id hold back no job for ever, and their limits hold", async ({ db }) => {
  await letAllCollide(db);
  await setLimit(db, "tenant", "*", { max: 2 });
  await setLimit(db, "key", "*", { max: 1 });
  const pairs = [T, U].flatMap((tenant) => ["a", "b"].map((type) => [tenant, type] as const));
  await enqueueAll(
    db,
    pairs.flatMap(([tenant, type]) => ["x", "x", "y"].map((key) => keyed(tenant, type, key))),
  );
  expect(await drain(db, 14)).toEqual({ tenant: 2, key: 1 });
});

test("buckets with the same id and rates raise nothing and hold back no job for ever", async ({ db }) => {
  await letAllCollide(db);
  for (const [scope, rate] of [
    ["type", 5],
    ["tenant", 4],
    ["type_tenant", 3],
    ["key", 2],
  ] as const) {
    await setLimit(db, scope, "*", { rate, per: "1 second" });
  }
  const pairs = [T, U].flatMap((tenant) => ["a", "b"].map((type) => [tenant, type] as const));
  await enqueueAll(
    db,
    pairs.flatMap(([tenant, type]) => ["x", "x", "y"].map((key) => keyed(tenant, type, key))),
  );
  await drain(db, 24);
});
